/// The unknown changes in a listing, until messages received during the listing explain them.
///
/// Comparing only the final state is not enough: later messages may change the same nodes again, and hide that an
/// earlier one was lost.
struct ListingSurprises: Sendable {
    private let listed: NodeIndex
    private var paths: Set<NodePath>
    /// The moved folders. Their contents moved along without separate messages.
    private var movedFolders: Set<NodePath> = []

    init(of listed: NodeIndex, after known: NodeIndex) {
        var listed = listed
        listed.fill(from: known)
        self.listed = listed
        paths = Set(known.differences(to: listed).map(\.path))
    }

    /// - Parameter index: The known nodes after the change.
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
