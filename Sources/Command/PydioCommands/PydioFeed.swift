import Basics
import CommandKit
import PusherSwift
import PydioSDK

/// The selected workspaces of a server, and the sources of their events.
final class PydioFeed: Feed {
    private struct Source {
        let events: PydioWorkspaceEvents
        let workspace: PydioWorkspace
        var state = ConnectionState.disconnected
        /// A failure, reported once until it is connected again.
        var failure: String?
        var hasBeenConnected = false
        /// Whether it is not retried.
        var hasEnded = false
    }

    private struct State {
        /// The sources by channel.
        var sources: [String: Source] = [:]
        var isClosed = false
    }

    private let account: PydioAccount
    private let names: [String]
    private let options: PydioEventsOptions
    private let state = Lock(State())

    /// - Parameter names: Ids, slugs or labels of workspaces; empty selects all.
    init(_ account: PydioAccount, workspaces names: [String], options: PydioEventsOptions) {
        var options = options
        options.callbackQueue = .queue(EventStream.queue)
        (self.account, self.names, self.options) = (account, names, options)
    }

    func start(
        _ report: @escaping @Sendable (FeedReport) -> Void, failed: @escaping @Sendable (any Error) -> Void
    ) {
        Task {
            do {
                let workspaces = try await account.working { account in
                    let workspaces = try await chosen(of: account.workspaces())
                    try await requireLogs(of: workspaces)
                    return workspaces
                }
                guard !workspaces.isEmpty else { throw CommandFailure(.badData, "there is no workspace to watch") }
                add(workspaces).forEach { events in
                    events.observe {
                        report(.event($0))
                    } others: {
                        FeedReport($0).map(report)
                    }
                    events.start()
                }
            } catch {
                failed(error)
            }
        }
    }

    /// Throws if a workspace is to be reported from a log position but has no log.
    private func requireLogs(of workspaces: [PydioWorkspace]) async throws {
        guard let sequence = options.sequence else { return }
        for workspace in workspaces where try await workspace.changes(since: sequence).isReset {
            StandardError.write(
                "warning: the server's log has started over; changes of \(workspace.name) may be missing: list it")
        }
    }

    private func chosen(of all: [PydioWorkspace]) throws -> [PydioWorkspace] {
        names.isEmpty ? all : try names.map { try PydioWorkspace.named($0, among: all) }
    }

    /// - Returns: The sources to start; empty if the feed was closed in the meantime.
    private func add(_ workspaces: [PydioWorkspace]) -> [PydioWorkspaceEvents] {
        state.withLock { state in
            guard !state.isClosed else { return [] }
            return workspaces.compactMap { workspace in
                let events = PydioWorkspaceEvents(client: account.client, workspaceId: workspace.id, options: options)
                guard state.sources[events.channelName] == nil else { return nil }
                state.sources[events.channelName] = Source(events: events, workspace: workspace)
                return events
            }
        }
    }

    func close() {
        let sources = state.withLock { state in
            state.isClosed = true
            return state.sources.values.map(\.events)
        }
        for source in sources { source.close() }
        account.keepSession()
    }

    var serverName: String { account.serverName }

    // MARK: Events

    func news(of event: RealtimeEvent, forPeople: Bool) -> FeedNews? {
        guard let channel = event.channelName, event.eventName != PydioEventName.state,  // reported as a state
            let workspace = state.withLock({ $0.sources[channel]?.workspace })
        else { return nil }
        let record = PydioEventRecord(event, workspaceID: workspace.id, workspace: workspace.name)
        return FeedNews(record: .pydioEvent(record), counts: true)
    }

    func news(of change: SourceState) -> FeedNews? {
        let (channel, new) = (change.channelName, change.connectionState)
        return state.withLock { state in
            guard var source = state.sources[channel], source.state != new else { return nil }
            let old = source.state
            source.state = new
            if new == .connected { (source.failure, source.hasBeenConnected) = (nil, true) }
            state.sources[channel] = source
            return FeedNews(
                record: .pydioState(channel: channel, workspace: source.workspace.name, from: old, to: new),
                // One connected source is enough to continue.
                isConnected: new == .connected)
        }
    }

    func wants(_ gap: SourceGap) -> Bool { true }

    func isNew(_ failure: SourceFailure) -> Bool {
        guard let channel = failure.channelName else { return true }
        return state.withLock { state in
            defer { state.sources[channel]?.failure = failure.message }
            return state.sources[channel]?.failure != failure.message
        }
    }

    func end(by failure: SourceFailure) -> ExitStatus? {
        guard let channel = failure.channelName else { return nil }
        return state.withLock { state in
            state.sources[channel]?.hasEnded = true
            guard state.sources.values.allSatisfy(\.hasEnded) else { return nil }
            // A source that was connected before has lost the login. Otherwise the server has no events, because the
            // login had just succeeded.
            return state.sources[channel]?.hasBeenConnected == true ? .refused : .unavailable
        }
    }

    var isFailing: Bool {
        state.withLock { $0.sources.values.contains { $0.failure != nil && $0.state != .connected && !$0.hasEnded } }
    }
}
