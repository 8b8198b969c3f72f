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
/// its end, and one answer.
final class KeyAgent: Sendable {
    /// Bytes of a request: as many events as a command shows, each as large as the homeserver takes.
    private static let maximumRequestSize = 64 << 20

    private let listener: NIOAsyncChannel<NIOAsyncChannel<ByteBuffer, ByteBuffer>, Never>
    private let task: Task<Void, Never>

    /// Listens from then on. What another process has left at the place is removed: call it as the owner of the store only.
    static func start(_ keys: some RoomKeys, for store: MatrixStore) async throws(CommandFailure) -> KeyAgent {
        do {
            return KeyAgent(try await AgentSocket(store).listen(), keys)
        } catch {
            let reason = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
            throw CommandFailure(.unavailable, reason)
        }
    }

    private init(
        _ listener: NIOAsyncChannel<NIOAsyncChannel<ByteBuffer, ByteBuffer>, Never>, _ keys: some RoomKeys
    ) {
        self.listener = listener
        task = Task {
            try? await listener.executeThenClose { connections in
                await withDiscardingTaskGroup { group in
                    do {
                        for try await connection in connections {
                            group.addTask { await Self.serve(connection, keys) }
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

    private static func serve(_ connection: NIOAsyncChannel<ByteBuffer, ByteBuffer>, _ keys: some RoomKeys) async {
        try? await connection.executeThenClose { inbound, outbound in
            guard let bytes = try await inbound.all(limit: maximumRequestSize),
                let request = JSONView(bytes).flatMap(KeyAgentRequest.init)
            else { return }
            let answer = await request.performed(with: keys)
            try await outbound.write(ByteBuffer(string: answer.json))
        }
    }
}

/// The key agent of another process.
struct KeyAgentClient: RoomKeys {
    private let socket: AgentSocket

    /// Nil if there is none.
    init?(of store: MatrixStore) async {
        socket = AgentSocket(store)
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

    private func sent(_ request: KeyAgentRequest) async throws -> String {
        guard case .sent(let id) = try await ask(request) else { throw Self.unreadable }
        return id
    }

    private func ask(_ request: KeyAgentRequest) async throws -> KeyAgentAnswer {
        let connection = try await socket.connect()
        let bytes = try await connection.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: request.json))
            outbound.finish()
            return try await inbound.all(limit: Int.max)
        }
        guard let answer = bytes.flatMap(JSONView.init).flatMap(KeyAgentAnswer.init) else {
            throw CommandFailure(
                .unavailable,
                "the process that has the keys of this login has ended before it answered: nobody knows whether it was done"
            )
        }
        if case .failed(let failure) = answer { throw failure }
        return answer
    }

    private static let unreadable = CommandFailure(
        .unavailable,
        "the process that has the keys of this login is another version of pusher-cli: end it, then try again")
}

/// Where agent and clients meet. The path is as long as the user's folders are, and an address may have 107 bytes: it is
/// given relative to a descriptor of the folder.
private struct AgentSocket: Sendable {
    private let store: MatrixStore

    init(_ store: MatrixStore) { self.store = store }

    func listen() async throws -> NIOAsyncChannel<NIOAsyncChannel<ByteBuffer, ByteBuffer>, Never> {
        try await withPath { path in
            try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelOption(.allowRemoteHalfClosure, value: true)
                .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true) { channel in
                    channel.eventLoop.makeCompletedFuture { try Self.wrap(channel) }
                }
        }
    }

    func connect() async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        try await withPath { path in
            try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(.seconds(60))  // of a busy machine: who does not listen refuses at once
                .connect(unixDomainSocketPath: path) { channel in
                    channel.eventLoop.makeCompletedFuture { try Self.wrap(channel) }
                }
        }
    }

    private static func wrap(_ channel: any Channel) throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        try NIOAsyncChannel(
            wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
    }

    private func withPath<Value>(_ body: (String) async throws -> Value) async throws -> Value {
        let folder = open(try store.agentFolder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw IOError(errnoCode: errno, reason: "open") }
        defer { close(folder) }
        return try await body("/proc/self/fd/\(folder)/agent")
    }
}

extension NIOAsyncChannelInboundStream<ByteBuffer> {
    /// All bytes up to the end; nil if there are more.
    fileprivate func all(limit: Int) async throws -> [UInt8]? {
        var bytes: [UInt8] = []
        for try await buffer in self {
            guard bytes.count + buffer.readableBytes <= limit else { return nil }
            bytes += buffer.readableBytesView
        }
        return bytes
    }
}
