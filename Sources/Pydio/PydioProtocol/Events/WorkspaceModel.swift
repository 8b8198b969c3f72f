import Basics
import Foundation

/// What is known of a workspace, and what of that which comes is news: messages, listings and the log of changes in,
/// events out.
///
/// Messages may say again what a listing has said already, since a mailbox is opened before the workspace is listed.
package struct WorkspaceModel: Sendable {
    package struct Configuration: Hashable, Sendable {
        package var workspaceId: String
        /// Nodes that are remembered for comparison; with more none are.
        package var maximumNodes = 100_000
        /// Where to go on in the log of changes; nil is its end.
        package var sequence: Int64?

        package init(workspaceId: String) {
            self.workspaceId = workspaceId
        }
    }

    /// What becomes of a mailbox's messages.
    package enum Purpose: Hashable, Sendable {
        /// They are older than what is to be told.
        case nothing
        /// A listing follows: those of nodes are in it.
        case allButNodes
        case everything
    }

    package struct Taken: Hashable, Sendable {
        package var events: [PydioEvent] = []
        /// Whether nodes have changed, or messages wait.
        package var isWoken = false
        /// Whether workspaces or rights are others.
        package var isRegistryStale = false
        /// What the listing before has found that no message told; it comes before the events.
        package var comparison: Comparison?
    }

    package struct Comparison: Hashable, Sendable {
        /// Nil if there was nothing to compare with.
        package var events: [PydioEvent]?
        /// Whether the listing shows what no message told, even where later messages have covered it up.
        package var isGap = false
    }

    package let configuration: Configuration
    /// The last place in the log of changes up to which everything was told.
    package private(set) var sequence: Int64?
    /// Whether nodes are told from the log of changes, and messages of them only wake.
    package var readsFeed = false
    /// What is remembered; nil if that was too much, or nothing was listed.
    package private(set) var index: NodeIndex?

    /// What comes next may have been listed.
    private var mayRepeat = false
    /// Files that have made way for an upload whose end is still to come.
    private var replaced: Set<NodePath> = []
    private static let maximumReplaced = 1_000
    private var wasRegistryStale = false
    /// A listing that is to be compared.
    private var listing: Listing?
    /// While messages are taken that came during it.
    private var surprises: ListingSurprises?

    private struct Listing: Sendable {
        let index: NodeIndex?
        /// What messages tell may hide that one before them was lost: any difference is a gap.
        var isLossSuspected = false
    }
    /// While a WebSocket is open.
    private var socketBacklog: SocketBacklog?

    package init(_ configuration: Configuration) {
        self.configuration = configuration
        sequence = configuration.sequence
    }

    private var workspaceId: String { configuration.workspaceId }

    // MARK: Mailbox

    package mutating func consumed(_ messages: [ChannelMessage], for purpose: Purpose) -> Taken {
        socketBacklog?.consumed(messages)
        let isStaleAgain = wasRegistryStale
        wasRegistryStale = messages.contains { if case .requireRegistryReload = $0 { true } else { false } }
        var taken = Taken()
        guard purpose != .nothing else { return taken }
        if purpose == .everything, let index, let listed = listing?.index {
            surprises = ListingSurprises(of: listed, after: index)
        }
        defer { surprises = nil }
        let differs = surprises?.isExplained == false
        for message in messages {
            // The newer server says so with each poll as long as it holds.
            if isStaleAgain, case .requireRegistryReload = message { continue }
            take(message, withNodes: purpose == .everything, &taken)
        }
        guard purpose == .everything else { return taken }
        // The log repeats by itself.
        if !readsFeed { mayRepeat = false }
        if let listing {
            self.listing = nil
            let isGap = listing.isLossSuspected ? differs : surprises?.isExplained == false
            surprises = nil
            taken.comparison = compare(listing, after: messages)
            taken.comparison?.isGap = isGap
        }
        return taken
    }

    /// What the messages have told is in the listing, or has happened after it: both sides get it.
    private mutating func compare(_ listing: Listing, after messages: [ChannelMessage]) -> Comparison {
        let old = index
        index = listing.index
        if let old { index?.fill(from: old) }
        _ = take(messages)
        guard let old, let index else { return Comparison(events: nil) }
        let events = old.differences(to: index).map { event(of: $0) }
        return Comparison(events: events.filter { !Self.isTemporary($0.path) })
    }

    // MARK: WebSocket

    package mutating func socketOpened() {
        socketBacklog = SocketBacklog()
    }

    package mutating func socketClosed() {
        socketBacklog = nil
    }

    package mutating func socketReceived(_ messages: [ChannelMessage]) -> Taken {
        let news = messages.filter { socketBacklog?.isToBeTaken($0) ?? false }
        return take(news)
    }

    /// The mailbox was consumed for the last time: what the WebSocket has brought meanwhile counts, and all that follows.
    package mutating func socketTakesOver() -> Taken {
        mayRepeat = true
        return take(socketBacklog?.takeOver() ?? [])
    }

    /// It has answered a ping that was sent after all that was consumed: what it sent before is here.
    package mutating func socketAnswered() {
        guard socketBacklog?.answered() == true else { return }
        // Where there is a log, that tells of nodes, and ends this when it is read.
        if !readsFeed { mayRepeat = false }
    }

    /// The mailbox counts again.
    package mutating func socketHandsBack() {
        socketBacklog?.handBack()
    }

    private mutating func take(_ messages: [ChannelMessage]) -> Taken {
        var taken = Taken()
        for message in messages { take(message, withNodes: true, &taken) }
        return taken
    }

    // MARK: Messages

    private mutating func take(_ message: ChannelMessage, withNodes: Bool, _ taken: inout Taken) {
        switch message {
        case .nodesDiff(let diff):
            taken.isWoken = true
            guard withNodes, !readsFeed else { return }
            for change in diff.changes {
                event(of: change).flatMap { withoutUpload($0) }.map { taken.events.append($0) }
                if let index { surprises?.explain(by: change, index) }
            }
        case .reloadBookmarks: taken.events.append(PydioEvent(PydioEventName.bookmarksChanged, in: workspaceId))
        case .reloadWorkspaces, .requireRegistryReload:
            var event = PydioEvent(PydioEventName.workspacesChanged, in: workspaceId)
            if case .requireRegistryReload(let id) = message { event.details["workspace_id"] = id }
            taken.events.append(event)
            taken.isRegistryStale = true
        case .reload(let object, let node, let file):
            var event = PydioEvent(PydioEventName.reload, in: workspaceId)
            event.details["object"] = object
            event.details["node"] = node
            event.details["file"] = file
            taken.events.append(event)
        case .consumeChannel: taken.isWoken = true
        case .other(let xml):
            var event = PydioEvent(PydioEventName.message, in: workspaceId)
            event.details["xml"] = xml
            taken.events.append(event)
        }
    }

    /// - Returns: Nil if the change is known already.
    private mutating func event(of change: NodesDiff.Change) -> PydioEvent? {
        switch change {
        case .added(let node):
            var entry = NodeIndex.Entry(node)
            entry.isUnlisted = !entry.isLeaf
            switch remember(entry, at: node.fullPath) {
            case .new: return event(PydioEventName.nodeCreated, node)
            case .changed: return event(PydioEventName.nodeUpdated, node)
            case .none: return nil
            }
        case .updated(let node):
            let entry = NodeIndex.Entry(node)
            if let source = node.originalPath, NodePath(source) != NodePath(node.fullPath) {
                guard index?.move(source, to: node.fullPath, as: entry) ?? true else { return nil }
                checkSize()
                return event(PydioEventName.nodeMoved, node)
            }
            // Not only size and time can have changed: the same twice is told twice, unless it was listed meanwhile.
            let effect = remember(entry, at: node.fullPath)
            return mayRepeat && effect == .none ? nil : event(PydioEventName.nodeUpdated, node)
        case .removed(let path, _):
            let old = index?[path]
            guard index?.remove(path) ?? true else { return nil }
            var event = PydioEvent(PydioEventName.nodeDeleted, in: workspaceId, path: path)
            event.isLeaf = old?.isLeaf
            return event
        }
    }

    private func event(_ name: String, _ node: NodeResponse) -> PydioEvent {
        var event = PydioEvent(name, in: workspaceId, path: node.fullPath)
        if name == PydioEventName.nodeMoved { event.originalPath = node.originalPath }
        event.isLeaf = node.isLeaf
        if node.isLeaf, node.size > 0 || node.mTime != nil { event.size = node.size }
        event.mTime = node.mTime
        return event
    }

    private mutating func remember(_ entry: NodeIndex.Entry, at path: String) -> NodeIndex.Effect {
        let effect = index?.set(entry, at: path) ?? .new
        checkSize()
        return effect
    }

    private mutating func checkSize() {
        if let index, index.count > configuration.maximumNodes { self.index = nil }
    }

    // MARK: Listing

    /// The workspace is about to be listed.
    package mutating func listingBegins() {
        listing = nil
        socketBacklog?.listingBegins()
    }

    /// The workspace as it is now; nil if it is more than can be remembered. It is only remembered.
    package mutating func listed(_ new: NodeIndex?) {
        index = new
        mayRepeat = true
    }

    /// The same, as news: to be compared once the messages that came meanwhile are known.
    package mutating func listedForComparison(_ new: NodeIndex?, isLossSuspected: Bool) {
        listing = Listing(index: new, isLossSuspected: isLossSuspected)
    }

    /// The same, compared at once.
    package mutating func compared(_ new: NodeIndex?) -> Comparison {
        defer { mayRepeat = true }
        return compare(Listing(index: new), after: [])
    }

    private func event(of difference: NodeIndex.Difference) -> PydioEvent {
        let (name, path, entry) =
            switch difference {
            case .created(let path, let entry): (PydioEventName.nodeCreated, path, entry)
            case .updated(let path, let entry): (PydioEventName.nodeUpdated, path, entry)
            case .deleted(let path, let entry): (PydioEventName.nodeDeleted, path, entry)
            }
        var event = PydioEvent(name, in: workspaceId, path: path.text)
        event.isLeaf = entry.isLeaf
        event.isLate = true
        guard name != PydioEventName.nodeDeleted else { return event }
        event.size = entry.isLeaf ? entry.size : nil
        event.mTime = entry.mTime.map { Date(timeIntervalSince1970: Double($0)) }
        return event
    }

    // MARK: Unfinished uploads

    /// The event as applications see it, without the names that syncs use for unfinished uploads: a file that gets its
    /// own name is created, or updated if a file made way for it. Nil if there is nothing to see.
    private mutating func withoutUpload(_ event: PydioEvent) -> PydioEvent? {
        if Self.isTemporary(event.path) {
            if let original = event.originalPath, !Self.isTemporary(original) {
                if replaced.count >= Self.maximumReplaced { replaced = [] }
                replaced.insert(NodePath(original))
            }
            return nil
        }
        guard let path = event.path, Self.isTemporary(event.originalPath) else { return event }
        var event = event
        event.name = replaced.remove(NodePath(path)) == nil ? PydioEventName.nodeCreated : PydioEventName.nodeUpdated
        event.originalPath = nil
        return event
    }

    private static func isTemporary(_ path: String?) -> Bool {
        path?.pathSegments.last.map { SyncUpload.isTemporary($0) } ?? false
    }

    // MARK: Log of changes

    /// - Returns: Nothing the first time, unless there was a place to go on from: that is how things are.
    package mutating func read(_ response: PydioChangesResponse) -> [PydioEvent] {
        guard let last = sequence else {
            sequence = response.lastSequence
            // What is known from a listing is what the next one is compared with.
            if index == nil { remember(response) }
            return []
        }
        sequence = response.lastSequence
        // A log that has begun anew says nothing of the time before: a listing does.
        guard !response.isReset else { return [] }
        defer { mayRepeat = false }
        return response.changes.filter { $0.sequence > last }.compactMap { change in
            event(of: change).flatMap { withoutUpload($0) }
        }
    }

    private mutating func remember(_ response: PydioChangesResponse) {
        var entries: [NodePath: NodeIndex.Entry] = [:]
        for change in response.changes where entries.count <= configuration.maximumNodes {
            if let path = change.node?.path, let entry = NodeIndex.Entry(change) { entries[NodePath(path)] = entry }
        }
        index = entries.count <= configuration.maximumNodes ? NodeIndex(entries) : nil
    }

    /// - Returns: Nil if the change is known already.
    private mutating func event(of change: PydioLoggedChange) -> PydioEvent? {
        let name: String
        guard let path = change.target ?? change.source else { return nil }
        let entry = NodeIndex.Entry(change) ?? index?[path] ?? NodeIndex.Entry(isLeaf: true)
        let isNews: Bool
        switch change.kind {
        case .create:
            let effect = remember(entry, at: path)
            // A flattened log does not say that the one before was deleted.
            name = effect == .changed ? PydioEventName.nodeUpdated : PydioEventName.nodeCreated
            isNews = effect != .none
        case .content:
            name = PydioEventName.nodeUpdated
            isNews = remember(entry, at: path) != .none
        case .path:
            name = PydioEventName.nodeMoved
            isNews = index?.move(change.source ?? path, to: path, as: entry) ?? true
            checkSize()
        case .delete:
            name = PydioEventName.nodeDeleted
            isNews = index?.remove(path) ?? true
        }
        guard isNews || !mayRepeat else { return nil }
        var event = PydioEvent(name, in: workspaceId, path: path)
        if change.kind == .path { event.originalPath = change.source }
        event.sequence = change.sequence
        event.isLeaf = change.node.map { !$0.isFolder }
        guard change.kind != .delete, let node = change.node else { return event }
        event.size = node.isFolder ? nil : node.size
        event.mTime = node.mTime
        event.md5 = node.md5
        return event
    }
}

extension NodeIndex.Entry {
    /// - Returns: Nil if nothing is known of the node any more.
    fileprivate init?(_ change: PydioLoggedChange) {
        guard let node = change.node else { return nil }
        self.init(
            isLeaf: !node.isFolder, size: node.size ?? 0,
            mTime: node.mTime.flatMap { Int64(exactly: $0.timeIntervalSince1970.rounded(.down)) })
    }
}
