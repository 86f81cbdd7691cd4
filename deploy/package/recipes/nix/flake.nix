# A test evaluates it and builds the package, with a stand-in for nixpkgs; untried on NixOS.
{
  description = "Prometheus exporter for Intel GPUs (i915 and xe), the static file of the release";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs = { self, nixpkgs }:
    let
      build = system: architecture: sha256:
        nixpkgs.legacyPackages.${system}.stdenvNoCC.mkDerivation {
          pname = "intel-gpu-exporter";
          version = "@VERSION@";
          src = nixpkgs.legacyPackages.${system}.fetchurl {
            url = "@DOWNLOAD@/intel-gpu-exporter-@VERSION@-linux-${architecture}";
            inherit sha256;
          };
          dontUnpack = true;
          installPhase = "install -D -m 755 $src $out/bin/intel-gpu-exporter";
          meta.mainProgram = "intel-gpu-exporter";
        };
    in {
      packages.x86_64-linux.default = build "x86_64-linux" "amd64" "@SHA256_STATIC@";
      packages.aarch64-linux.default = build "aarch64-linux" "arm64" "@SHA256_STATIC_ARM64@";
      nixosModules.default = { config, lib, pkgs, ... }:
        let cfg = config.services.intel-gpu-exporter;
        in {
          options.services.intel-gpu-exporter = {
            enable = lib.mkEnableOption "the Prometheus exporter for Intel GPUs";
            flags = lib.mkOption { type = lib.types.listOf lib.types.str; default = [ ]; };
          };
          config = lib.mkIf cfg.enable {
            systemd.services.intel-gpu-exporter = {
              wantedBy = [ "multi-user.target" ];
              after = [ "network.target" ];
              serviceConfig = {
                ExecStart = lib.escapeShellArgs ([ "${self.packages.${pkgs.stdenv.hostPlatform.system}.default}/bin/intel-gpu-exporter" ] ++ cfg.flags);
                SupplementaryGroups = [ "render" "video" ];
                # The unit of the packages.
                @NIX_SERVICE@
              };
            };
          };
        };
    };
}
