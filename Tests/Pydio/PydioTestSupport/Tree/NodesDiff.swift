/// What an action did, as it is told to who asked for it. What others are told is another thing: see ``TreeEvent``.
struct NodesDiff {
    var removed: [TreePath] = []
    var added: [TreePath] = []
    /// `original` is nil if the answer does not say where it was before.
    var updated: [(path: TreePath, original: TreePath?)] = []

    /// The folder of what was renamed to a whole path: servers put together its name from one that they have not.
    var nameless: TreePath?

    var isEmpty: Bool { removed.isEmpty && added.isEmpty && updated.isEmpty && nameless == nil }
}

/// What happened to a node, as it is told to those who listen.
enum TreeEvent {
    case created(TreePath)
    case updated(TreePath)
    case moved(from: TreePath, to: TreePath)
    /// With what was there.
    case deleted(TreePath, Node)
}
