// SPDX-License-Identifier: Apache-2.0
#include "fake/simulation/tree.h"

#include <cerrno>

#include "base/scan.h"

namespace igpu::simulation {

namespace {

// File types of stat(2).
constexpr std::uint32_t kTypeDirectory = 0040000;
constexpr std::uint32_t kTypeCharacterDevice = 0020000;
constexpr std::uint32_t kTypeRegular = 0100000;
constexpr std::uint32_t kTypeLink = 0120000;

constexpr int kMaxLinks = 40;  // the kernel's limit of links in one path

enum class LastLink { follow, keep };

// The node that a path resolves to, or the errno of path_resolution(7).
struct Found {
  const Node* node = nullptr;
  int error = 0;
};

Found walk(const Tree& tree, const Node* at, std::string_view path, LastLink last, int& links_left) {
  if (path.starts_with('/')) at = &tree.root();
  while (!path.empty()) {
    const std::string_view name = take_until(path, '/');
    if (name.empty() || name == ".") continue;
    if (at->kind != Node::Kind::directory) return {nullptr, ENOTDIR};
    if (at->error != 0) return {nullptr, at->error};
    if (name == "..") {
      if (at->parent != nullptr) at = at->parent;
      continue;
    }
    const auto entry = at->children.find(name);
    if (entry == at->children.end()) return {nullptr, ENOENT};
    const Node* next = entry->second.get();
    if (next->life.recurs() && !next->life.exists(tree.clock().now())) return {nullptr, ENOENT};
    if (next->kind == Node::Kind::link && !(path.empty() && last == LastLink::keep)) {
      if (--links_left < 0) return {nullptr, ELOOP};
      const Found target = walk(tree, at, next->text, LastLink::follow, links_left);
      if (target.node == nullptr) return target;
      next = target.node;
    }
    at = next;
  }
  return {at, 0};
}

// Whether the entry, or a directory above it, is not what it was.
bool is_gone(const Tree& tree, const Node& node, ScriptTime opened) {
  for (const Node* at = &node; at != nullptr; at = at->parent)
    if (at->life.recurs() && !at->life.is_same(opened, tree.clock().now())) return true;
  return false;
}

// Where a path begins.
struct Start {
  const Node& node;
  ScriptTime opened;
};

Found find(const Tree& tree, const Start& from, std::string_view path, LastLink last = LastLink::follow) {
  if (is_gone(tree, from.node, from.opened)) return {nullptr, ESRCH};
  int links_left = kMaxLinks;
  return walk(tree, &from.node, path, last, links_left);
}

int refusal(const Tree& tree, const Node& node) {
  if (node.error != 0) return node.error;
  return tree.may_read(node) ? 0 : EACCES;
}

// A regular file that the reader may open.
Found find_file(const Tree& tree, const Start& from, std::string_view path) {
  Found found = find(tree, from, path);
  if (found.node == nullptr) return found;
  if (found.node->kind == Node::Kind::directory) return {nullptr, EISDIR};
  if (found.node->device) return {nullptr, ENXIO};
  if (const int error = refusal(tree, *found.node); error != 0) return {nullptr, error};
  return found;
}

// A directory that the reader may open.
Found find_directory(const Tree& tree, const Start& from, std::string_view path) {
  Found found = find(tree, from, path);
  if (found.node == nullptr) return found;
  if (found.node->kind != Node::Kind::directory) return {nullptr, ENOTDIR};
  if (const int error = refusal(tree, *found.node); error != 0) return {nullptr, error};
  return found;
}

std::string_view text_of(const Tree& tree, const Node& node, std::span<char> buffer) {
  if (node.wakes != nullptr) node.wakes->note_read();
  Text out(buffer);
  if (node.render)
    node.render(out, tree.clock().now());
  else
    out << node.text;
  return out.written();
}

Reading<std::string_view> read_whole(const Tree& tree, const Node& node, std::span<char> buffer,
                                     std::string_view where) {
  const std::string_view text = text_of(tree, node, buffer);
  // A full buffer may hold the whole file or not; read(2) does not report which, so machine/ treats it as too small.
  if (text.size() == buffer.size()) return Failure{std::error_code(EFBIG, std::generic_category()), std::string(where)};
  return text;
}

std::string path_of(const Node& node) {
  if (node.parent == nullptr) return "";
  for (const auto& [name, entry] : node.parent->children) {
    if (entry.get() != &node) continue;
    std::string path = path_of(*node.parent);
    if (!path.empty()) path += '/';
    return path + name;
  }
  return "";
}

class TreeFile final : public File {
 public:
  TreeFile(const Tree& tree, const Node& node) : tree_(tree), node_(node), opened_(tree.clock().now()) {}
  Reading<std::string_view> read(std::span<char> buffer) override {
    if (is_gone(tree_, node_, opened_)) return outcome_of_errno<std::string_view>(ESRCH, "simulated file");
    return read_whole(tree_, node_, buffer, "simulated file");
  }

 private:
  const Tree& tree_;
  const Node& node_;
  const ScriptTime opened_;
};

}  // namespace

Tree::Tree(const ScriptClock& clock, std::uint32_t reader_uid) : clock_(clock), reader_uid_(reader_uid) {
  root_.inode = nodes_;
}

bool Tree::may_read(const Node& node) const {
  if (reader_uid_ == 0) return true;
  const std::uint32_t bit = node.uid == reader_uid_ ? 0400 : 0004;
  return (node.permissions & bit) != 0;
}

Node& Tree::child(Node& parent, std::string_view name, Node::Kind kind) {
  auto entry = parent.children.find(name);
  if (entry == parent.children.end()) {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->parent = &parent;
    node->uid = parent.uid;
    node->inode = ++nodes_;
    entry = parent.children.emplace(std::string(name), std::move(node)).first;
  }
  return *entry->second;
}

Node& Tree::make(std::string_view path, Node::Kind kind) {
  Node* at = &root_;
  while (!path.empty()) {
    const std::string_view name = take_until(path, '/');
    at = &child(*at, name, path.empty() ? kind : Node::Kind::directory);
  }
  return *at;
}

Node& Tree::directory(std::string_view path) { return make(path, Node::Kind::directory); }

Node& Tree::file(std::string_view path, std::string text, std::uint32_t permissions) {
  Node& node = make(path, Node::Kind::file);
  node.text = std::move(text);
  node.permissions = permissions;
  return node;
}

Node& Tree::file(std::string_view path, Render render_text, std::uint32_t permissions) {
  Node& node = make(path, Node::Kind::file);
  node.render = std::move(render_text);
  node.permissions = permissions;
  return node;
}

Node& Tree::link(std::string_view path, std::string target) {
  Node& node = make(path, Node::Kind::link);
  node.text = std::move(target);
  node.permissions = 0777;
  return node;
}

Node& Tree::device(std::string_view path, unsigned major, unsigned minor, std::uint32_t permissions) {
  Node& node = make(path, Node::Kind::file);
  node.device = true;
  node.permissions = permissions;
  node.rdev = static_cast<std::uint64_t>(major) << 8 | minor;  // makedev(3) for minors below 256
  return node;
}

Reading<std::string_view> TreeDirectory::read(std::string_view path, std::span<char> buffer) const {
  const Found found = find_file(*tree_, {*node_, opened_}, path);
  if (found.node == nullptr) return outcome_of_errno<std::string_view>(found.error, path);
  return read_whole(*tree_, *found.node, buffer, path);
}

Reading<std::string_view> TreeDirectory::read_start(std::string_view path, std::span<char> buffer) const {
  const Found found = find_file(*tree_, {*node_, opened_}, path);
  if (found.node == nullptr) return outcome_of_errno<std::string_view>(found.error, path);
  return text_of(*tree_, *found.node, buffer);
}

Reading<std::unique_ptr<File>> TreeDirectory::open(std::string_view path) const {
  const Found found = find_file(*tree_, {*node_, opened_}, path);
  if (found.node == nullptr) return outcome_of_errno<std::unique_ptr<File>>(found.error, path);
  return std::unique_ptr<File>(std::make_unique<TreeFile>(*tree_, *found.node));
}

Reading<std::unique_ptr<Directory>> TreeDirectory::open_directory(std::string_view path) const {
  const Found found = find_directory(*tree_, {*node_, opened_}, path);
  if (found.node == nullptr) return outcome_of_errno<std::unique_ptr<Directory>>(found.error, path);
  return std::unique_ptr<Directory>(std::make_unique<TreeDirectory>(*tree_, *found.node));
}

Reading<Unit> TreeDirectory::for_each(std::string_view path,
                                      const std::function<bool(std::string_view name)>& visit) const {
  const Found found = find_directory(*tree_, {*node_, opened_}, path);
  if (found.node == nullptr) return outcome_of_errno<Unit>(found.error, path);
  for (const auto& [name, node] : found.node->children) {
    if (node->life.recurs() && !node->life.exists(tree_->clock().now())) continue;
    if (!visit(name)) break;
  }
  return Unit{};
}

Reading<std::string> TreeDirectory::read_link(std::string_view path) const {
  const Found found = find(*tree_, {*node_, opened_}, path, LastLink::keep);
  if (found.node == nullptr) return outcome_of_errno<std::string>(found.error, path);
  if (found.node->kind != Node::Kind::link) return Absent{Reason::kernel, EINVAL};
  return found.node->text;
}

Reading<std::string> TreeDirectory::resolve(std::string_view path) const {
  const Found found = find(*tree_, {*node_, opened_}, path);
  if (found.node == nullptr) return outcome_of_errno<std::string>(found.error, path);
  std::string real = path_of(*found.node);
  return real.empty() ? "." : real;
}

Reading<FileFacts> TreeDirectory::stat(std::string_view path) const {
  const Found found = find(*tree_, {*node_, opened_}, path);
  if (found.node == nullptr) return outcome_of_errno<FileFacts>(found.error, path);
  const Node& node = *found.node;
  FileFacts facts;
  facts.uid = node.uid;
  facts.rdev = node.rdev;
  facts.inode = node.inode;
  switch (node.kind) {
    case Node::Kind::directory: facts.mode = kTypeDirectory; break;
    case Node::Kind::link: facts.mode = kTypeLink; break;
    case Node::Kind::file: facts.mode = node.device ? kTypeCharacterDevice : kTypeRegular; break;
  }
  facts.mode |= node.permissions;
  return facts;
}

}  // namespace igpu::simulation
