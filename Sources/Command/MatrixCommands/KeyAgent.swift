import CommandKit
import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK
import NIOCore
import NIOPosix

/// Encrypts and decrypts for the other commands of a login while this process has its keys, as ssh-agent does for ssh: one
/// process at a time may use them.
///
/// It listens on a socket in the folder of the store, which only the user can enter. A connection carries one request, up to
/// its end, and one answer. Until then the agent says every second that it is there, from the beginning on: a process that is
/// stopped still has connections, which the system accepts for it.
final class KeyAgent: Sendable {
    /// Bytes of a request: as many events as a command shows, each as large as the homeserver takes.
    private static let maximumRequestSize = 64 << 20

    private let listener: NIOAsyncChannel<any Channel, Never>
    private let task: Task<Void, Never>

    /// Listens from then on. What another process has left at the place is removed: call it as the owner of the store only.
    static func start(_ keys: some RoomKeys, for store: MatrixStore) async throws(CommandFailure) -> KeyAgent {
        do {
            let folder = try AgentFolder(of: store)
            return KeyAgent(try await AgentSocket(store).listen(in: folder), in: folder, keys)
        } catch {
            let reason = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
            throw CommandFailure(.unavailable, reason)
        }
    }

    private init(
        _ listener: NIOAsyncChannel<any Channel, Never>, in folder: AgentFolder, _ keys: some RoomKeys
    ) {
        self.listener = listener
        task = Task {
            // NIO deletes the socket by its path when it is closed: until then the path must lead here.
            defer { withExtendedLifetime(folder) {} }
            try? await listener.executeThenClose { connections in
                await withDiscardingTaskGroup { group in
                    do {
                        for try await channel in connections {
                            group.addTask { try? await Self.serve(channel, keys) }
                        }
                    } catch {
                        return  // it is closed
                    }
                }
            }
        }
    }

    /// Takes no more requests; one that is being done is given up.
    func stop() { task.cancel() }

    private static func serve(_ channel: any Channel, _ keys: some RoomKeys) async throws {
        let connection = try await AgentSocket.opened(channel)
        try await connection.executeThenClose { inbound, outbound in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    while true {
                        try await outbound.write(ByteBuffer(string: signOfLife))
                        try await Task.sleep(for: .seconds(1))
                    }
                }
                defer { group.cancelAll() }
                var requests = inbound.makeAsyncIterator()
                guard let bytes = try await requests.rest(limit: maximumRequestSize),
                    let request = JSONView(bytes).flatMap(KeyAgentRequest.init)
                else { return }
                let answer = await request.performed(with: keys)
                try await outbound.write(ByteBuffer(string: answer.json))
            }
        }
    }

    /// Nothing to a reader of JSON.
    private static let signOfLife = "\n"
}

/// The key agent of another process.
struct KeyAgentClient: RoomKeys {
    private let store: MatrixStore
    private let socket: AgentSocket

    /// Nil if there is none.
    ///
    /// - Parameter patience: How long the agent may be silent.
    init?(of store: MatrixStore, patience: Duration = .seconds(10)) async {
        self.store = store
        socket = AgentSocket(store, patience: patience)
        guard let connection = try? await socket.connect() else { return nil }
        try? await connection.executeThenClose { _, _ in }
    }

    func send(_ content: [String: Any], to roomID: String, transactionID: String?) async throws -> String {
        let data = try JSONSerialization.data(withJSONObject: content)
        guard let content = JSONView(Array(data)) else { throw Self.unreadable }
        return try await sent(.send(content: content, roomID: roomID, transactionID: transactionID))
    }

    func upload(
        _ file: URL, mimeType: String, caption: String?, to roomID: String,
        onProgress: @escaping @Sendable (MXTransferProgress) -> Void
    ) async throws -> String {
        try await sent(
            .upload(path: file.absoluteURL.path, mimeType: mimeType, caption: caption, roomID: roomID))
    }

    func read(_ events: [MXEvent], in roomID: String) async throws -> [ReadEvent] {
        guard case .read(let read) = try await ask(.read(events: events, roomID: roomID)), read.count == events.count
        else { throw Self.unreadable }
        return zip(events, read).map { event, read in
            ReadEvent(event: read.record.map(event.withDecryptionRecord) ?? event, shield: read.shield)
        }
    }

    func invite(_ userID: String, to roomID: String) async throws -> String? {
        guard case .invited(let reason) = try await ask(.invite(userID: userID, roomID: roomID)) else {
            throw Self.unreadable
        }
        return reason
    }

    func ownDevices() async throws -> [String: DeviceStanding] {
        guard case .ownDevices(let devices) = try await ask(.ownDevices) else { throw Self.unreadable }
        return devices
    }

    private func sent(_ request: KeyAgentRequest) async throws -> String {
        guard case .sent(let id) = try await ask(request) else { throw Self.unreadable }
        return id
    }

    private func ask(_ request: KeyAgentRequest) async throws -> KeyAgentAnswer {
        let connection = try await socket.connect()
        let bytes = try await connection.executeThenClose { inbound, outbound in
            var answers = inbound.makeAsyncIterator()
            do {
                guard try await answers.next(isolation: #isolation) != nil else { throw hasEnded(mayBeDone: false) }
            } catch is AgentSilence {
                throw doesNotAnswer(mayBeDone: false)
            }
            do {
                try await outbound.write(ByteBuffer(string: request.json))
                outbound.finish()
                return try await answers.rest(limit: Int.max)
            } catch is AgentSilence {
                throw doesNotAnswer(mayBeDone: true)
            }
        }
        guard let answer = bytes.flatMap(JSONView.init).flatMap(KeyAgentAnswer.init) else {
            throw hasEnded(mayBeDone: true)
        }
        if case .failed(let failure) = answer { throw failure }
        return answer
    }

    /// - Parameter mayBeDone: What was asked for.
    private func hasEnded(mayBeDone: Bool) -> CommandFailure {
        CommandFailure(
            .unavailable,
            "the process that has the keys of this login has ended before it answered: \(Self.result(mayBeDone))",
            lacksKeys: !mayBeDone)
    }

    private func doesNotAnswer(mayBeDone: Bool) -> CommandFailure {
        CommandFailure(
            .unavailable,
            """
            \(store.ownerName), which has the keys of this login, does not answer: \(Self.result(mayBeDone)). It may be \
            stopped: continue it or end it, then try again
            """, lacksKeys: !mayBeDone)
    }

    private static func result(_ mayBeDone: Bool) -> String {
        mayBeDone ? "nobody knows whether it was done" : "nothing was done"
    }

    private static let unreadable = CommandFailure(
        .unavailable,
        "the process that has the keys of this login is another version of pusher-cli: end it, then try again")
}

/// Where agent and clients meet. The path is as long as the user's folders are, and an address may have 107 bytes: it is
/// given relative to a descriptor of the folder, ``AgentFolder``.
private struct AgentSocket: Sendable {
    private let store: MatrixStore
    private let patience: Duration

    /// - Parameter patience: How long the other side may be silent before a connection fails with ``AgentSilence``.
    init(_ store: MatrixStore, patience: Duration = .zero) { (self.store, self.patience) = (store, patience) }

    /// Its connections are to be given to ``opened(_:)``.
    func listen(in folder: AgentFolder) async throws -> NIOAsyncChannel<any Channel, Never> {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.autoRead, value: false)
            .bind(unixDomainSocketPath: folder.socketPath, cleanupExistingSocketFile: true) { channel in
                channel.eventLoop.makeSucceededFuture(channel)
            }
    }

    /// A connection that has come, to be read and written. Those that come while the agent is stopped never are: NIO's wrapper
    /// ends the process if nobody uses it.
    static func opened(_ channel: any Channel) async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        let connection = try await channel.eventLoop.submit { try wrap(channel) }.get()
        try await channel.setOption(.autoRead, value: true).get()
        return connection
    }

    func connect() async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        let folder = try AgentFolder(of: store)
        defer { withExtendedLifetime(folder) {} }
        return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(60))  // of a busy machine: who does not listen refuses at once
            .connect(unixDomainSocketPath: folder.socketPath) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        IdleStateHandler(readTimeout: TimeAmount(patience)), AgentSilence.Handler())
                    return try Self.wrap(channel)
                }
            }
    }

    private static func wrap(_ channel: any Channel) throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        try NIOAsyncChannel(
            wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
    }
}

/// The folder of a store, kept open.
private final class AgentFolder: Sendable {
    private let descriptor: Int32

    init(of store: MatrixStore) throws {
        descriptor = open(try store.agentFolder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "open") }
    }

    deinit { close(descriptor) }

    /// Short, whatever the folder is called. It leads there as long as this is alive.
    var socketPath: String { "/proc/self/fd/\(descriptor)/agent" }
}

/// Nothing has come for longer than an agent that runs is silent.
private struct AgentSilence: Error {
    /// Fails the connection with it.
    final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard event is IdleStateHandler.IdleStateEvent else { return context.fireUserInboundEventTriggered(event) }
            context.fireErrorCaught(AgentSilence())
            context.close(promise: nil)
        }
    }
}

extension NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator {
    /// All bytes up to the end; nil if there are more.
    fileprivate mutating func rest(limit: Int) async throws -> [UInt8]? {
        var bytes: [UInt8] = []
        while let buffer = try await next(isolation: #isolation) {
            guard bytes.count + buffer.readableBytes <= limit else { return nil }
            bytes += buffer.readableBytesView
        }
        return bytes
    }
}
