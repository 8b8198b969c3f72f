import Basics
import Foundation

/// The known contents of a workspace, which determine what is new: messages, listings and the change log in, events
/// out.
///
/// Messages may repeat changes that a listing already contains, since the mailbox is opened before the workspace is
/// listed.
package struct WorkspaceModel: Sendable {
    package struct Configuration: Hashable, Sendable {
        package var workspaceId: String
        /// The maximum number of nodes to store for comparison; if there are more, none are stored.
        package var maximumNodes = 100_000
        /// The position in the change log to continue from; `nil` means its end.
        package var sequence: Int64?

        package init(workspaceId: String) {
            self.workspaceId = workspaceId
        }
    }

    /// The use of a mailbox's messages.
    package enum Purpose: Hashable, Sendable {
        /// Ignore the messages: they are older than the events to report.
        case nothing
        /// Ignore messages about nodes: a listing that includes them follows.
        case allButNodes
        case everything
    }

    package struct Taken: Hashable, Sendable {
        package var events: [PydioEvent] = []
        /// Whether nodes have changed, or messages wait.
        package var isWoken = false
        /// Whether workspaces or rights have changed.
        package var isRegistryStale = false
        /// The changes in the previous listing that no message reported; they come before the events.
        package var comparison: Comparison?
    }

    package struct Comparison: Hashable, Sendable {
        /// The events; `nil` if there was nothing to compare with.
        package var events: [PydioEvent]?
        /// Whether the listing shows a change that no message reported, even if later messages have hidden it.
        package var isGap = false
    }

    package let configuration: Configuration
    /// The last position in the change log up to which everything was reported.
    package private(set) var sequence: Int64?
    /// Whether changes of nodes come from the change log, and messages about them only trigger a read.
    package var readsFeed = false
    /// The stored nodes; `nil` if there were too many, or nothing was listed.
    package private(set) var index: NodeIndex?

    /// Whether the next changes may already be in the listing.
    private var mayRepeat = false
    /// Files set aside for an upload that has not ended yet.
    private var replaced: Set<NodePath> = []
    private static let maximumReplaced = 1_000
    private var wasRegistryStale = false
    private var listing: Listing?
    /// The unexplained changes, while messages received during the listing are processed.
    private var surprises: ListingSurprises?

    private struct Listing: Sendable {
        let index: NodeIndex?
        /// Whether messages may hide that an earlier one was lost, so that any difference is a gap.
        var isLossSuspected = false
    }
    /// The backlog while a WebSocket is open.
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
            // The newer server repeats this with each poll while it applies.
            if isStaleAgain, case .requireRegistryReload = message { continue }
            take(message, withNodes: purpose == .everything, &taken)
        }
        guard purpose == .everything else { return taken }
        // With a log, only reading it ends this.
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

    /// Compares a listing with the stored nodes. The changes in messages are in the listing, or happened after it, so
    /// both sides receive them.
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

    /// Takes the messages that the WebSocket has delivered meanwhile, after the mailbox was consumed for the last time.
    /// Later ones also count.
    package mutating func socketTakesOver() -> Taken {
        mayRepeat = true
        return take(socketBacklog?.takeOver() ?? [])
    }

    /// Handles the WebSocket's answer to a ping sent after all consumed messages: everything sent before has arrived.
    package mutating func socketAnswered() {
        guard socketBacklog?.answered() == true else { return }
        // With a log, the log reports nodes, and reading it ends this.
        if !readsFeed { mayRepeat = false }
    }

    /// Returns to the mailbox.
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

    /// - Returns: `nil` if the change is already known.
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
            // More than size and time may have changed: report an equal change again, unless it was listed meanwhile.
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

    /// Handles the start of a listing.
    package mutating func listingBegins() {
        listing = nil
        socketBacklog?.listingBegins()
    }

    /// Stores the current contents of the workspace without reporting changes; `nil` if there are too many nodes to
    /// store.
    package mutating func listed(_ new: NodeIndex?) {
        index = new
        mayRepeat = true
    }

    /// Stores a listing, to compare it once the messages received meanwhile are known.
    package mutating func listedForComparison(_ new: NodeIndex?, isLossSuspected: Bool) {
        listing = Listing(index: new, isLossSuspected: isLossSuspected)
    }

    /// Compares a listing at once.
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

    /// Returns the event as applications see it, without the temporary names of unfinished uploads: a file that gets
    /// its final name is created, or updated if it replaces a file. `nil` if there is nothing to report.
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

    // MARK: Change log

    /// - Returns: An empty array the first time, unless there was a position to continue from: the first read shows the
    ///   current state.
    package mutating func read(_ response: PydioChangesResponse) -> [PydioEvent] {
        guard let last = sequence else {
            sequence = response.lastSequence
            // Keep the known listing, which the next one is compared with.
            if index == nil { remember(response) }
            return []
        }
        sequence = response.lastSequence
        // A log that was reset contains nothing from before; a listing does.
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

    /// - Returns: `nil` if the change is already known.
    private mutating func event(of change: PydioLoggedChange) -> PydioEvent? {
        let name: String
        guard let path = change.target ?? change.source else { return nil }
        let entry = NodeIndex.Entry(change) ?? index?[path] ?? NodeIndex.Entry(isLeaf: true)
        let isNews: Bool
        switch change.kind {
        case .create:
            let effect = remember(entry, at: path)
            // A flattened log doesn't show that the previous node was deleted.
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
    /// - Returns: `nil` if nothing is known about the node any more.
    fileprivate init?(_ change: PydioLoggedChange) {
        guard let node = change.node else { return nil }
        self.init(
            isLeaf: !node.isFolder, size: node.size ?? 0,
            mTime: node.mTime.flatMap { Int64(exactly: $0.timeIntervalSince1970.rounded(.down)) })
    }
}
