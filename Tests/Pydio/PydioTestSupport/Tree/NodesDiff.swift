/// The effect of an action as reported to its caller. Listeners get a ``TreeEvent`` instead.
struct NodesDiff {
    var removed: [TreePath] = []
    var added: [TreePath] = []
    /// `original` is `nil` if the answer omits the old path.
    var updated: [(path: TreePath, original: TreePath?)] = []

    /// The folder of a node renamed to a whole path: servers build its name from a missing one.
    var nameless: TreePath?

    var isEmpty: Bool { removed.isEmpty && added.isEmpty && updated.isEmpty && nameless == nil }
}

/// A change of a node as reported to listeners.
enum TreeEvent {
    case created(TreePath)
    case updated(TreePath)
    case moved(from: TreePath, to: TreePath)
    /// With the deleted node.
    case deleted(TreePath, Node)
}
