import CommandKit
import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK
import NIOCore
import NIOPosix

/// Encrypts and decrypts for the other commands of a login while this process owns its keys, like ssh-agent for ssh:
/// only one process at a time can use them.
///
/// It listens on a socket in the folder of the store, which only the user can access. A connection carries one request,
/// up to its end, and one answer. Until then the agent sends a sign of life every second, from the start: the system
/// accepts connections even for a process that is stopped.
final class KeyAgent: Sendable {
    /// The maximum size of a request, in bytes: all events that a command shows, each as large as the homeserver
    /// allows.
    private static let maximumRequestSize = 64 << 20

    private let listener: NIOAsyncChannel<any Channel, Never>
    private let task: Task<Void, Never>

    /// Starts listening. Removes the socket of an earlier process: call it only as the owner of the store.
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
            // NIO deletes the socket by its path when closing it: the path must be valid until then.
            defer { withExtendedLifetime(folder) {} }
            try? await listener.executeThenClose { connections in
                await withDiscardingTaskGroup { group in
                    do {
                        for try await channel in connections {
                            group.addTask { try? await Self.serve(channel, keys) }
                        }
                    } catch {
                        return  // closed
                    }
                }
            }
        }
    }

    /// Stops accepting requests and cancels the current one.
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

    /// Ignored by a JSON reader.
    private static let signOfLife = "\n"
}

/// The key agent of another process.
struct KeyAgentClient: RoomKeys {
    private let store: MatrixStore
    private let socket: AgentSocket

    /// Returns `nil` if there is none.
    ///
    /// - Parameter patience: The maximum time that the agent may be silent.
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

    /// - Parameter mayBeDone: Whether the request may have been carried out.
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

/// The meeting point of agent and clients. The path depends on the user's folders, but an address is limited to 107
/// bytes, so it is relative to a descriptor of the folder, ``AgentFolder``.
private struct AgentSocket: Sendable {
    private let store: MatrixStore
    private let patience: Duration

    /// - Parameter patience: The time after which a connection fails with ``AgentSilence`` if the other side is silent.
    init(_ store: MatrixStore, patience: Duration = .zero) { (self.store, self.patience) = (store, patience) }

    /// Pass its connections to ``opened(_:)``.
    func listen(in folder: AgentFolder) async throws -> NIOAsyncChannel<any Channel, Never> {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.autoRead, value: false)
            .bind(unixDomainSocketPath: folder.socketPath, cleanupExistingSocketFile: true) { channel in
                channel.eventLoop.makeSucceededFuture(channel)
            }
    }

    /// Returns an accepted connection, ready for reading and writing. Those that arrive while the agent stops never
    /// are: NIO's wrapper traps if it is not used.
    static func opened(_ channel: any Channel) async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        let connection = try await channel.eventLoop.submit { try wrap(channel) }.get()
        try await channel.setOption(.autoRead, value: true).get()
        return connection
    }

    func connect() async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        let folder = try AgentFolder(of: store)
        defer { withExtendedLifetime(folder) {} }
        return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(60))  // for a busy machine; without a listener, connecting fails at once
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

    /// The path of the socket: short whatever the folder's name, and valid for the lifetime of this object.
    var socketPath: String { "/proc/self/fd/\(descriptor)/agent" }
}

/// The other side was silent for longer than a running agent.
private struct AgentSilence: Error {
    /// Fails the connection with this error.
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
    /// Returns all bytes up to the end; `nil` if there are more than the limit.
    fileprivate mutating func rest(limit: Int) async throws -> [UInt8]? {
        var bytes: [UInt8] = []
        while let buffer = try await next(isolation: #isolation) {
            guard bytes.count + buffer.readableBytes <= limit else { return nil }
            bytes += buffer.readableBytesView
        }
        return bytes
    }
}
