import Basics
import CommandKit
import Foundation
import JSONBytes
import PusherHTTP
import PusherProtocol
import PusherSwift
import TerminalUI

/// A client and the shell's commands on it.
final class ShellSession: PusherDelegate {
    /// The asynchronous part of a command.
    struct Work: Sendable {
        /// Whether the client's own records show the result, so that a terminal needs no other report.
        let isToldAnyway: Bool
        let run: @Sendable () async throws -> Void
    }

    private struct State {
        var output: ShellOutput?
        /// The channels whose last subscription failed.
        var refused: Set<String> = []
        /// The names of events by channel, oldest first.
        var events: [String: [String]] = [:]
        /// The last error of any kind.
        var lastError: PusherError?
        /// The last error that is not retried, and the number of such errors.
        var failure: PusherError?
        var failures = 0
    }

    /// The maximum number of names per channel, for completion.
    private static let maximumEventNames = 100
    private static let maximumEventChannels = 1000

    private let pusher: Pusher
    private let settings: Settings
    private let api: Result<PusherHTTPClient, CommandFailure>
    /// The reason why sign-in is impossible; `nil` if it is possible.
    private let signInTrouble: CommandFailure?
    private let state = Lock(State())

    /// - Parameter settings: The settings with which the client was created.
    init(
        pusher: Pusher, settings: Settings, api: Result<PusherHTTPClient, CommandFailure>,
        signInTrouble: CommandFailure?
    ) {
        self.pusher = pusher
        self.settings = settings
        self.api = api
        self.signInTrouble = signInTrouble
    }

    /// Connects and starts printing records.
    func open(_ output: ShellOutput, signsIn: Bool) {
        state.withLock { $0.output = output }
        pusher.delegate = self
        pusher.bind { [weak self] event in self?.received(event) }
        pusher.user.bind(eventName: "pusher:signin_success") { [weak self, weak pusher] _ in
            self?.print(.signedIn(userID: pusher?.user.userId ?? ""))
        }
        pusher.user.watchlist.bind { [weak self] event in self?.print(.watchlist(event)) }
        if signsIn { pusher.user.signIn() }
        pusher.connect()
    }

    /// Waits for the connection.
    func connected() async throws { try await pusher.connected() }

    /// Closes the connection, waiting only a moment for the server.
    func close() async {
        let states = pusher.connection.states
        state.withLock { $0.output = nil }
        pusher.unbindAll()
        pusher.disconnect()
        for await state in states where state == .disconnected { break }
    }

    /// The known reason for a pending wait.
    var trouble: String { state.withLock { $0.lastError?.message } ?? "the server did not answer" }

    /// Returns when everything that the server has sent so far has been printed.
    func catchUp() async throws {
        if pusher.connection.connectionState == .connected { _ = try await pusher.connection.ping() }
    }

    var vocabulary: ShellVocabulary {
        let channels = pusher.connection.channels.channels
        let members = channels.compactMapValues { ($0 as? PusherPresenceChannel)?.members.map(\.userId) }
        return ShellVocabulary(
            channels: channels.keys.sorted(), events: state.withLock { $0.events }, members: members)
    }

    // MARK: Commands

    /// Starts an instruction, in the order of the calls.
    ///
    /// - Returns: The work to wait for; `nil` if it is done.
    func begin(_ instruction: ShellInstruction) throws -> Work? {
        switch instruction {
        case .subscribe(let names): return try subscribe(names)
        case .unsubscribe(let names): try unsubscribe(names)
        case .trigger(let channel, let event, let data): return try trigger(event, data, on: channel)
        case .members(let channel, let user): try listMembers(of: channel, user: user)
        case .channels: print(.channels(channels))
        case .status: return Work(isToldAnyway: false) { [self] in try await tellStatus() }
        case .signIn: return try signIn()
        case .connect:
            pusher.connect()
            return Work(isToldAnyway: true) { [pusher] in try await pusher.connected() }
        case .disconnect:
            pusher.disconnect()
            return Work(isToldAnyway: true) { [pusher] in
                for await state in pusher.connection.states where state == .disconnected { break }
            }
        case .help(let verb): print(.help(verb))
        case .quit: break
        }
        return nil
    }

    private func subscribe(_ names: [String]) throws -> Work {
        for name in names {
            do throws(InvalidChannelName) {
                _ = try ChannelName(name)
            } catch {
                throw CommandFailure(.badData, error.description)
            }
        }
        try settings.requireSubscribing(to: names)
        var waiting: [PusherChannel] = []
        for name in names {
            if pusher.connection.channels.find(name: name)?.subscribed == true {
                print(.channels(channels.filter { $0.name == name }))
                continue
            }
            state.withLock { _ = $0.refused.remove(name) }
            let channel = pusher.subscribe(
                name,
                onMemberAdded: { [weak self] member in self?.print(.memberAdded(channel: name, member)) },
                onMemberRemoved: { [weak self] member in self?.print(.memberRemoved(channel: name, member)) })
            channel.onGap = { [weak self] gap in self?.print(.gap(gap)) }
            waiting.append(channel)
        }
        let channels = waiting
        return Work(isToldAnyway: true) { [self] in
            try await whileConnected {
                for channel in channels { try await channel.subscribed() }
            }
        }
    }

    private func unsubscribe(_ names: [String]) throws {
        for name in names { _ = try channel(named: name) }
        for name in names {
            pusher.unsubscribe(name)
            state.withLock { state in
                state.refused.remove(name)
                state.events[name] = nil
            }
            print(.unsubscribed(channel: name))
        }
    }

    private func trigger(_ event: String, _ data: String, on name: String) throws -> Work {
        let isMembersOnly = name.hasPrefix("private-") || name.hasPrefix("presence-")
        guard event.hasPrefix("client-"), isMembersOnly else { return try publish(event, data, on: name) }
        let channel = try channel(named: name)
        let failures = state.withLock { $0.failures }
        let isWaiting = !channel.subscribed
        if JSONView.isJSON(data) {
            try channel.trigger(event, json: data)
        } else {
            try channel.trigger(event, data)
        }
        print(.sent(channel: name, event: event, isWaiting: isWaiting))
        return Work(isToldAnyway: true) { [self] in
            try await whileConnected {
                try await channel.subscribed()
                // The server reports an error before its answer to a ping.
                _ = try await self.pusher.connection.ping()
            }
            if let failure = state.withLock({ $0.failures > failures ? $0.failure : nil }) { throw failure }
        }
    }

    private func publish(_ event: String, _ data: String, on channel: String) throws -> Work {
        let api = try api.get()
        return Work(isToldAnyway: false) { [self] in
            try await api.trigger(event: event, channels: [channel], data: data)
            print(.published(channel: channel, event: event))
        }
    }

    private func listMembers(of name: String, user: String?) throws {
        guard let channel = try channel(named: name) as? PusherPresenceChannel else {
            throw CommandFailure(.badData, "only presence channels have members, and “\(name)” is not one")
        }
        guard channel.subscribed else { throw CommandFailure(.unavailable, "\(name) is not subscribed yet") }
        guard let user else { return print(.members(channel: name, channel.members)) }
        guard let member = channel.findMember(userId: user) else {
            throw CommandFailure(.badData, "“\(user)” is not on \(name)")
        }
        print(.members(channel: name, [member]))
    }

    private func signIn() throws -> Work {
        if let signInTrouble { throw signInTrouble }
        pusher.user.signIn()
        return Work(isToldAnyway: true) { [self] in
            try await whileConnected { _ = try await self.pusher.user.signedIn() }
        }
    }

    private func tellStatus() async throws {
        let connection = pusher.connection
        let ping = connection.connectionState == .connected ? try await connection.ping() : nil
        print(
            .status(
                ShellAnswer.Status(
                    state: connection.connectionState, server: String(connection.url.prefix { $0 != "?" }),
                    socketID: connection.socketId, userID: pusher.user.userId, ping: ping)))
    }

    private func channel(named name: String) throws(CommandFailure) -> PusherChannel {
        guard let channel = pusher.connection.channels.find(name: name) else {
            throw CommandFailure(.badData, "“\(name)” is not subscribed: subscribe to it first")
        }
        return channel
    }

    private var channels: [ShellAnswer.Channel] {
        let refused = state.withLock { $0.refused }
        return pusher.connection.channels.channels.values.sorted { $0.name < $1.name }.map { channel in
            let isSubscribed = channel.subscribed
            return ShellAnswer.Channel(
                name: channel.name,
                state: isSubscribed ? .subscribed : refused.contains(channel.name) ? .refused : .waiting,
                members: isSubscribed ? (channel as? PusherPresenceChannel)?.members.count : nil)
        }
    }

    /// Runs the work unless the client is disconnected or becomes so: the work would then wait forever.
    private func whileConnected(_ work: @escaping @Sendable () async throws -> Void) async throws {
        let states = pusher.connection.states
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await work() }
            group.addTask { [self] in
                for await state in states where state == .disconnected {
                    throw self.state.withLock { $0.failure } ?? Self.notConnected
                }
                try Task.checkCancellation()
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private static let notConnected = CommandFailure(.unavailable, "there is no connection: connect first")

    // MARK: Events, on the callback queue

    private func received(_ event: PusherEvent) {
        if event.eventName == "pusher:subscription_succeeded" { print(.subscribed(to: event)) }
        guard !event.eventName.hasPrefix("pusher:") else { return }  // other records cover these
        remember(event)
        print(.event(event))
    }

    private func remember(_ event: PusherEvent) {
        guard let channel = event.channelName else { return }
        state.withLock { state in
            guard state.events[channel] != nil || state.events.count < Self.maximumEventChannels else { return }
            var names = state.events[channel] ?? []
            guard !names.contains(event.eventName), event.eventName.utf8.count <= LineHistory.maximumLine else {
                return
            }
            names.append(event.eventName)
            state.events[channel] = names.suffix(Self.maximumEventNames)
        }
    }

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        if new == .connected { state.withLock { $0.lastError = nil } }
        print(.state(from: old, to: new, socketID: new == .connected ? pusher.connection.socketId : nil))
    }

    func subscribedToChannel(name: String) {
        state.withLock { _ = $0.refused.remove(name) }
    }

    func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
        guard let error = error?.userInfo[NSUnderlyingErrorKey] as? PusherError else { return }
        state.withLock { _ = $0.refused.insert(name) }
        receivedError(error: error)
    }

    func receivedError(error: PusherError) {
        state.withLock { state in
            if error.explainsWait { state.lastError = error }
            guard !error.willRetry else { return }
            state.failure = error
            state.failures += 1
        }
        print(.error(error))
    }

    private func print(_ record: Record) { state.withLock { $0.output }?.print(record) }

    private func print(_ answer: ShellAnswer) { state.withLock { $0.output }?.print(answer) }
}
