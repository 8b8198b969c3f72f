/// What a listing shows that was not known before, until messages that came while it was made have told of it.
///
/// To look at the end alone is not enough: messages that come later may change the same nodes again, and cover up that one
/// before them was lost.
struct ListingSurprises: Sendable {
    private let listed: NodeIndex
    private var paths: Set<NodePath>
    /// What is in them has come along, without a word of its own.
    private var movedFolders: Set<NodePath> = []

    init(of listed: NodeIndex, after known: NodeIndex) {
        var listed = listed
        listed.fill(from: known)
        self.listed = listed
        paths = Set(known.differences(to: listed).map(\.path))
    }

    /// - Parameter index: What is known after the change.
    mutating func explain(by change: NodesDiff.Change, _ index: NodeIndex) {
        guard !paths.isEmpty else { return }
        switch change {
        case .added(let node): explain(node.fullPath, index)
        case .updated(let node):
            explain(node.fullPath, index)
            guard let source = node.originalPath else { return }
            explain(source, index)
            if !node.isLeaf { movedFolders.insert(NodePath(node.fullPath)) }
        case .removed(let path, _): explain(path, index)
        }
    }

    private mutating func explain(_ path: String, _ index: NodeIndex) {
        let path = NodePath(path)
        if paths.contains(path), index.agrees(with: listed, at: path) { paths.remove(path) }
    }

    var isExplained: Bool {
        paths.allSatisfy { path in path.folders.contains { movedFolders.contains($0) } }
    }
}
