# SPDX-License-Identifier: Apache-2.0
# Sourced in the guest by selftest.
C=/dev/fakegpu-ctl
fails=0 checks=0
ok() { checks=$((checks + 1)); if [ "$1" = 0 ]; then echo "   ok   $2"; else fails=$((fails + 1)); echo "   FAIL $2"; fi; }
is() { [ "$1" = "$2" ]; ok $? "$3 ($1${4:+ }$4)"; [ "$1" = "$2" ] || echo "        expected $2"; }
near() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { exit !(a != "" && a >= b - t && a <= b + t) }'; local r=$?; ok $r "$4: $1, scripted $2"; }
finish() { echo "   $checks checks, $fails failed"; [ "$fails" = 0 ]; exit; }
ctl() { echo "$*" > $C || ok 1 "ctl $*"; }
# rate EVENT [SECONDS]: counts per second of counter run time
rate() { perf stat -x, -a -e "$1" sleep "${2:-1}" 2>&1 >/dev/null | awk -F, '$1 ~ /^[0-9.]+$/ {printf "%.4f\n", $1 * 1e9 / $(NF >= 7 && $4 ~ /^[0-9]+$/ ? 4 : 5); exit} {print $1; exit}'; }
# pct EVENT: a ns event as percent
pct() { rate "$1" | awk '/^[0-9.]+$/ {printf "%.3f\n", $1 / 1e7; next} {print}'; }
# fd_rate PID KEY: growth of an fdinfo counter per second
fd_rate() {
    python3 - "$1" "$2" <<'X'
import sys,time,glob
pid,key=sys.argv[1:]
def rd():
    for f in glob.glob(f"/proc/{pid}/fdinfo/*"):
        t=time.monotonic_ns(); s=open(f).read()
        for l in s.splitlines():
            if l.startswith(key+":"): return t,int(l.split()[1])
a=rd(); time.sleep(1); b=rd()
print((b[1]-a[1])*1e9/(b[0]-a[0]))
X
}
# perf_open TYPE CONFIG [CPU] [SAMPLE_PERIOD]: errno name or "ok"
perf_open() {
    python3 - "$@" <<'X'
import ctypes,struct,sys,errno
a=[int(x,0) for x in sys.argv[1:]]+[0]*4
typ,cfg=a[0],a[1]; cpu=a[2] if len(sys.argv)>3 else 0; per=a[3] if len(sys.argv)>4 else 0
buf=struct.pack("IIQQQQQ",typ,64,cfg,per,0,0,0)+b"\0"*16
l=ctypes.CDLL(None,use_errno=True)
fd=l.syscall(298,ctypes.create_string_buffer(buf,128),-1,cpu,-1,0)
print("ok" if fd>=0 else errno.errorcode[ctypes.get_errno()])
X
}
# igt N: the last of N one-second rows of intel_gpu_top -l
igt() { timeout $(($1 + 2)) intel_gpu_top -l -s 1000 ${2:+-d "$2"} | sed -n "$(($1 + 3))p"; }
bg() { gpuload "$@" > /tmp/bg & BG=$!; while ! grep -q ready /tmp/bg; do sleep .05; done; read -r _ BGPID _ < /tmp/bg; }
stop() { kill $BG; wait $BG 2>/dev/null; }

test_tgl() {
    local v t
    t=$(cat /sys/devices/i915/type)
    is "$(basename "$(readlink /sys/bus/pci/devices/0000:00:02.0/driver)")" i915 "driver of 0000:00:02.0"
    is "$(drmdevice 2>/dev/null | sed -n 's/.*Devices reported \([0-9]*\).*/\1/p')" 1 "libdrm sees one device"
    drmdevice 2>/dev/null | grep -qi 'device.*9a49'; ok $? "libdrm reads device 9a49"
    bg --name ffmpeg 'render=30 video=75 mem=512M'
    near "$(pct i915/vcs0-busy/)" 75 1 "perf vcs0-busy %"
    near "$(pct i915/rcs0-busy/)" 30 1 "perf rcs0-busy %"
    near "$(pct i915/vcs1-busy/)" 0 0.01 "perf vcs1-busy %"
    near "$(pct i915/rc6-residency/)" 25 1 "perf rc6 %"
    near "$(rate i915/actual-frequency/ 2)" 400 4 "perf actual-frequency MHz"
    near "$(rate i915/interrupts/ 2)" 120 4 "perf interrupts/s"
    near "$(rate power/energy-gpu/ 2)" 1.5 0.05 "perf energy-gpu W"
    near "$(rate power/energy-pkg/ 2)" 9 0.2 "perf energy-pkg W"
    near "$(rate uncore_imc/data_reads/ 2)" 1024 20 "perf IMC reads MiB/s"
    near "$(fd_rate "$BGPID" drm-engine-video)" 750000000 5000000 "fdinfo video ns/s"
    near "$(fd_rate "$BGPID" drm-engine-render)" 300000000 3000000 "fdinfo render ns/s"
    set -- $(igt 2)
    near "$9" 30 1.5 "intel_gpu_top RCS/0"
    near "${15}" 75 1.5 "intel_gpu_top VCS/0"
    near "$1" 400 8 "intel_gpu_top requested MHz"
    near "$5" 1.5 0.1 "intel_gpu_top GPU W"
    timeout 4 intel_gpu_top -J -s 1000 > /tmp/j; v=$(grep -A20 '"ffmpeg"' /tmp/j | grep -A1 '"Video":' | tail -1 | tr -dc 0-9.)
    near "$v" 75 3 "intel_gpu_top -J client ffmpeg Video"
    is "$(perf_open "$t" 0x0)" ok "perf_event_open rcs0-busy"
    is "$(perf_open "$t" 0x4000)" ENODEV "no such engine"
    is "$(perf_open "$t" 0x3)" ENOENT "no such sample"
    is "$(perf_open "$t" 0x100009)" ENOENT "no such event"
    is "$(perf_open "$t" 0x1000000000100000)" ENOENT "no such GT"
    is "$(perf_open "$t" 0x0 1)" EINVAL "wrong CPU"
    is "$(perf_open "$t" 0x0 0 1000)" EINVAL "sampling"
    stop
    is "$(cat /proc/sys/kernel/perf_event_paranoid)" 3 "Debian's perf_event_paranoid"
    v=$(su alice -c 'timeout 2 intel_gpu_top -l 2>&1' | head -1)
    is "$v" "Failed to initialize PMU! (Permission denied)" "intel_gpu_top as a user"
    su alice -c 'cat /dev/dri/renderD128' 2>&1 | grep -q 'Permission denied'; ok $? "render node closed to others"
    su gpuuser -c 'gpuload "render=5" -- true'; ok $? "render node open to its group"
    bg --name mpv --opens 2 --dups 1 --heirs 2 --uid 1001 'render=10'
    is "$(cat /proc/[0-9]*/fdinfo/* 2>/dev/null | grep drm-client-id | sort | uniq -c | awk '{print $1}' | tr '\n' ' ')" "6 6 " "two clients, six descriptors each"
    is "$(ps -o user= -p "$BGPID") $(cat /proc/"$BGPID"/comm)" "gpuuser mpv" "owner and name"
    near "$(pct i915/rcs0-busy/)" 20 1 "their sum"
    stop
    near "$(pct i915/rcs0-busy/)" 0 0.01 "idle again"
}

test_dg2() {
    local p=i915_0000_03_00.0 h e0 e1
    bg --name ffmpeg 'video=175 compute=50.5 mem=3G'
    near "$(pct $p/vcs0-busy/)" 100 1 "vcs0 %"
    near "$(pct $p/vcs1-busy/)" 75 1 "vcs1 %"
    near "$(pct $p/ccs0-busy/)" 50.5 1 "ccs0 %"
    near "$(fd_rate "$BGPID" drm-engine-video)" 1750000000 12000000 "fdinfo video ns/s"
    grep -h drm-resident-local0 /proc/"$BGPID"/fdinfo/* | grep -q '3072 MiB'; ok $? "local memory in fdinfo"
    set -- $(igt 2)
    near "${13}" 100 1.5 "intel_gpu_top VCS/0"
    h=$(echo /sys/bus/pci/devices/0000:03:00.0/hwmon/hwmon*)
    is "$(cat "$h/name")" i915 "hwmon name"
    ctl "gpu0 hwmon power=150 temp=81.5 fan=2500"
    e0=$(date +%s%N; cat "$h/energy1_input"); sleep 2; e1=$(date +%s%N; cat "$h/energy1_input")
    near "$(echo $e0 $e1 | awk '{print ($4 - $2) * 1000 / ($3 - $1)}')" 150 3 "hwmon energy W"
    sensors 2>/dev/null | grep -q '81.5'; ok $? "sensors reads 81.5 C"
    stop
}

test_bmg() {
    local p=xe_0000_03_00.0 a t
    bg --name ffmpeg 'video=80 render=30 mem=2G'
    perf stat -x, -a -e $p/engine-active-ticks,engine_class=2,gt=1/,$p/engine-total-ticks,engine_class=2,gt=1/ sleep 1 2>/tmp/o
    a=$(awk -F, '/active/ {print $1}' /tmp/o); t=$(awk -F, '/total/ {print $1}' /tmp/o)
    near "$(awk "BEGIN {print 100 * $a / $t}")" 80 1 "xe active/total ticks %"
    near "$(rate $p/gt-c6-residency,gt=0/ 2)" 700 10 "gt-c6-residency ms/s"
    is "$(perf_open "$(cat /sys/bus/event_source/devices/$p/type)" 0x200002)" ENOENT "video engine on the wrong GT"
    near "$(fd_rate "$BGPID" drm-cycles-vcs)" 15360000 150000 "fdinfo cycles/s"
    near "$(fd_rate "$BGPID" drm-total-cycles-vcs)" 19200000 200000 "fdinfo total cycles/s"
    is "$(cat /sys/class/drm/card0/device/tile0/gt1/freq0/act_freq)" 800 "act_freq"
    is "$(cat /sys/class/drm/card0/device/tile0/gt1/gtidle/idle_status)" gt-c0 "idle_status"
    stop
    is "$(cat /sys/class/drm/card0/device/tile0/gt1/freq0/act_freq)" 0 "act_freq idle"
}

test_mtl() {
    local d=/sys/class/drm/card0/device r
    sleep 2
    is "$(cat $d/power/runtime_status)" suspended "idle GPU sleeps"
    r=$(grep -o 'rpm_resumes":[0-9]*' $C)
    perf stat -a -e i915/rcs0-busy/ sleep 1 2>/dev/null; cat /sys/class/drm/card0/gt/gt0/rps_RP0_freq_mhz > /dev/null
    is "$(grep -o 'rpm_resumes":[0-9]*' $C)" "$r" "the PMU and static files do not wake it"
    cat /sys/class/drm/card0/gt/gt0/rps_act_freq_mhz > /dev/null
    is "$(cat $d/power/runtime_status)" active "reading act_freq does"
    bg 'video=40 render=10'
    near "$(pct i915/rc6-residency-gt0/)" 90 1 "rc6 GT 0 %"
    near "$(pct i915/rc6-residency-gt1/)" 60 1 "rc6 GT 1 %"
    is "$(cat $d/power/runtime_status)" active "a load keeps it awake"
    stop
}

test_lnl() {
    local d=/sys/class/drm/card0/device
    sleep 2
    is "$(cat $d/power/runtime_status)" suspended "idle GPU sleeps"
    perf stat -a -e xe_0000_00_02.0/gt-c6-residency/ sleep 2 2>/dev/null &
    sleep 1.5
    is "$(cat $d/power/runtime_status)" active "an open xe event keeps it awake"
    wait; sleep 2
    is "$(cat $d/power/runtime_status)" suspended "and lets go"
}

test_multi() {
    is "$(intel_gpu_top -L | grep -c '^card')" 2 "intel_gpu_top -L" "cards"
    ctl "gpu0 engine rcs0 busy=12.5 wait=3 sema=4"
    ctl "gpu1 engine rcs0 busy=66"
    near "$(pct i915/rcs0-busy/)" 12.5 0.5 "tgl rcs0"
    near "$(pct i915/rcs0-wait/)" 3 0.5 "tgl rcs0 wait"
    near "$(pct i915_0000_03_00.0/rcs0-busy/)" 66 1 "dg2 rcs0"
    is "$(cat /sys/class/drm/card0/device/device /sys/class/drm/card1/device/device | tr '\n' ' ')" "0x9a49 0x56a0 " "device ids"
}

test_none() {
    is "$(ls /dev/dri 2>/dev/null | wc -l)" 0 "no nodes" "nodes"
    intel_gpu_top -l 2>&1 | grep -q 'no discrete/integrated i915 devices found'; ok $? "intel_gpu_top finds nothing"
}

test_old() {
    is "$(ls /sys/devices/i915/events | grep -c awake)" 0 "no awake-time event" "files"
    is "$(perf_open "$(cat /sys/devices/i915/type)" 0x100004)" ENOENT "opening it"
    [ ! -e /sys/class/drm/card0/gt ]; ok $? "no gt directory"
    [ ! -e /sys/devices/power ]; ok $? "no power PMU"
    near "$(rate uncore_imc_free_running_0/data_read/ 2)" 512 10 "free-running IMC MiB/s"
    bg 'video=50'
    is "$(cat /proc/"$BGPID"/fdinfo/* | grep -c drm-resident)" 0 "no memory in fdinfo" "lines"
    near "$(fd_rate "$BGPID" drm-engine-video)" 500000000 5000000 "fdinfo video ns/s"
    stop
}

test_faults() {
    local f=/sys/class/drm/card0/gt/gt0/rps_act_freq_mhz v
    ctl "fault sysfs:*act_freq* EIO count=1"
    cat $f 2>&1 | grep -q 'Input/output error'; ok $? "EIO once"
    is "$(cat $f)" 0 "then fine"
    ctl "fault clear"; ctl 'fault sysfs:gt/gt0/rps_act* text=garbage\n'
    is "$(cat $f)" garbage "garbage text"
    ctl "fault clear"; ctl "fault hwmon:energy1 ENODATA"
    cat /sys/class/drm/card1/device/hwmon/hwmon*/energy1_input 2>&1 | grep -q 'No data'; ok $? "hwmon ENODATA"
    ctl "fault clear"; ctl "gpu0 fault pmu:vcs0-busy EMFILE"
    is "$(perf_open "$(cat /sys/devices/i915/type)" 0x2000)" EMFILE "perf_event_open fails"
    ctl "fault clear"
    ctl "gpu0 engine rcs0 busy=50"
    ctl "gpu0 gt 0 parked=1"
    near "$(pct i915/rcs0-busy/)" 0 0.01 "parked: busy"
    near "$(pct i915/rc6-residency/)" 100 1 "parked: rc6"
    near "$(rate i915/actual-frequency/)" 0 0.1 "parked: frequency"
    ctl "gpu0 gt 0 parked=0"
    ctl "gpu0 freeze 1"; near "$(pct i915/rcs0-busy/)" 0 0.01 "frozen counters"; ctl "gpu0 freeze 0"
    (sleep 1; ctl "gpu0 jump rcs0-busy -3000000000") &
    v=$(perf stat -x, -I 500 -a -e i915/rcs0-busy/ sleep 2.2 2>&1 | awk -F, '{print ($2 > 9e18) ? "back" : "fwd"}' | sort | uniq -c | tr -s ' \n' ' ')
    wait
    case $v in *"1 back"*) ok 0 "a counter jumped backwards";; *) ok 1 "a counter jumped backwards ($v)";; esac
    v=$(cat /sys/class/powercap/intel-rapl:0/energy_uj); ctl "rapl-wrap pkg 100"; sleep .3
    [ "$(cat /sys/class/powercap/intel-rapl:0/energy_uj)" -lt "$v" ]; ok $? "RAPL wrapped"
    bg --dev /dev/dri/renderD129 'render=20'
    perf stat -x, -I 500 -a -e i915_0000_03_00.0/rcs0-busy/ sleep 4 2>/tmp/ev & P=$!
    sleep 1.2; ctl "gpu1 unplug"
    [ ! -e /sys/devices/i915_0000_03_00.0 ] && [ ! -e /sys/class/drm/card1 ]; ok $? "unplugged under an open event and an open file"
    sleep 1; ctl "gpu1 replug"
    [ -e /sys/devices/i915_0000_03_00.0 ]; ok $? "replugged"
    wait $P
    is "$(tail -1 /tmp/ev | cut -d, -f2)" 0 "the old event stands still"
    stop
    ctl "gpu1 engine rcs0 busy=40"
    near "$(pct i915_0000_03_00.0/rcs0-busy/)" 40 1 "the new PMU counts"
    ctl "gpu1 remove"; is "$(lspci | grep -c VGA)" 1 "surprise removal" "VGA"
    ctl "rescan"; is "$(lspci | grep -c VGA)" 2 "back again" "VGA"
    rmmod fakegpu; ok $? "module unloads"
}
test_functions() {
    local p=/sys/bus/pci/devices/0000:03:00.0 npu=/sys/class/accel/accel0/device video=engine_class=2,gt=1 n=0 f b
    local active=xe_0000_03_00.0/engine-active-ticks
    # of an active-ticks event, over the total ticks of the same function
    ticks() { perf stat -x, -a -e "$1,${1/active/total}" sleep 1 2>&1 | awk -F, '{v[NR] = $1} END {print 100 * v[1] / v[2]}'; }
    is "$(cat $p/sriov_totalvfs) $(cat $p/sriov_numvfs)" "7 0" "virtual functions: possible, enabled"
    ctl "gpu0 engine vcs0 busy=10"; ctl "gpu0 vf 2 vcs0=30"
    echo 3 > $p/sriov_numvfs; ok $? "three are enabled"
    echo 4 > $p/sriov_numvfs 2>/dev/null; is $? 1 "another number only after 0: exit code"
    is "$(lspci -d 8086:e20b | wc -l)" 4 "lspci" "functions"
    is "$(readlink $p/virtfn1)" ../0000:03:00.2 "the link of VF 2"
    is "$(readlink -f $p/sriov_admin/vf2/device)" "$(readlink -f $p/virtfn1)" "that of the driver"
    near "$(ticks "$active,$video,function=2/")" 30 1 "VF 2, active/total ticks %"
    near "$(ticks "$active,$video/")" 10 1 "the PF"
    for f in pf vf1 vf2 vf3; do echo 10 > $p/sriov_admin/$f/profile/exec_quantum_ms; done
    near "$(ticks "$active,$video,function=2/")" 120 1 "of a quarter of the time"
    is "$(perf_open "$(cat /sys/devices/xe_0000_03_00.0/type)" $((1 << 60 | 8 << 44 | 2 << 20 | 2)))" ENOENT "an event of VF 8"
    echo vfio-pci > $p/virtfn1/driver_override; echo 0000:03:00.2 > /sys/bus/pci/drivers_probe
    exec 7<> "/dev/vfio/$(basename "$(readlink $p/virtfn1/iommu_group)")"; ok $? "the file of its group"
    exec 8<> "/dev/vfio/devices/$(ls $p/virtfn1/vfio-dev)"; ok $? "its own file"
    grep -q '^vfio-device-syspath: /sys/devices/.*/0000:03:00.2$' /proc/$$/fdinfo/8; ok $? "fdinfo names it"
    exec 7>&- 8>&-
    echo 0 > $p/sriov_numvfs; ok $? "disabled"
    [ ! -e $p/virtfn0 ] && [ ! -e /dev/vfio/devices/vfio0 ]; ok $? "links and files are gone"
    ctl "gpu0 engine vcs0 busy=0"
    while [ "$(cat $p/power/runtime_status)" != suspended ] && [ $n -lt 100 ]; do sleep .1; n=$((n + 1)); done
    is "$(cat $p/power/runtime_status)" suspended "without functions the GPU"
    is "$(jq -c '.npu | [.awake, .opens]' $C)" "[false,0]" "NPU: awake, opened"
    ctl "npu busy=50 mem=64M"
    read -r f < $npu/npu_busy_time_us; n=${EPOCHREALTIME/./}; sleep 2
    read -r b < $npu/npu_busy_time_us; n=$((${EPOCHREALTIME/./} - n))
    near $(((b - f) * 100 / n)) 50 2 "NPU: busy %"
    ctl "npu busy=0"; exec 7<> /dev/accel/accel0; echo mem=1M >&7
    is "$(cat $npu/npu_memory_utilization)" $((65 << 20)) "NPU: memory"
    grep -q 'drm-resident-memory:.1024 KiB' /proc/$$/fdinfo/7; ok $? "NPU: fdinfo"
    exec 7>&-
    echo 2 > $p/sriov_numvfs
    rmmod fakegpu; ok $? "module unloads while functions are enabled"
}
