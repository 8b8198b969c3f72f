import Basics
import CNATS
import Dispatch
import Foundation
import Glibc

/// A connection of libnats and its JetStream context, freed when no longer used.
///
/// `@unchecked Sendable`: both pointers are set once, and libnats locks what they point to.
final class NATSLink: @unchecked Sendable {
    let connection: OpaquePointer
    let jetStream: OpaquePointer
    private let closure: UInt
    /// Memory that the connection's thread may use until it has ended.
    private let leftovers = Lock<[@Sendable () -> Void]>([])

    /// Connects, which blocks.
    ///
    /// - Parameter owner: The receiver of callbacks.
    init(_ options: NATSOptions, owner: NATSConnection) throws(NATSError) {
        let closure = NATSCallbacks.add(owner)
        do throws(NATSError) {
            let connection = try Self.connect(options, closure)
            var context: OpaquePointer?
            let status = natsConnection_JetStream(&context, connection, nil)
            guard status == NATS_OK, let context else {
                natsConnection_Destroy(connection)
                throw NATSError(status, during: "the connection")
            }
            (self.connection, jetStream, self.closure) = (connection, context, closure)
        } catch {
            NATSCallbacks.remove(closure)
            throw error
        }
    }

    deinit {
        // This waits for threads of libnats, and may run on one of them.
        let (connection, jetStream) = (UInt(bitPattern: connection), UInt(bitPattern: jetStream))
        NATSCallbacks.remove(closure)
        DispatchQueue.global().async { [leftovers] in
            natsConnection_Close(OpaquePointer(bitPattern: connection))
            for free in leftovers.withLock({ $0 }) { free() }
            jsCtx_Destroy(OpaquePointer(bitPattern: jetStream))
            natsConnection_Destroy(OpaquePointer(bitPattern: connection))
        }
    }

    /// Frees an object that receives messages once the connection's reading thread has ended. libnats before 3.6 uses a
    /// subscription that another thread frees (its issue 637).
    func freeAtEnd(_ free: @escaping @Sendable () -> Void) { leftovers.withLock { $0.append(free) } }

    /// Sends what was written, such as acks. After that, every call fails. Blocks.
    func close() {
        if isConnected { natsConnection_FlushTimeout(connection, 1000) }
        natsConnection_Close(connection)
    }

    var isConnected: Bool { natsConnection_Status(connection) == NATS_CONN_STATUS_CONNECTED }

    var maximumPayload: Int { Int(natsConnection_GetMaxPayload(connection)) }

    private static func connect(_ options: NATSOptions, _ closure: UInt) throws(NATSError) -> OpaquePointer {
        let task = "the connection to \(options)" + (options.credentials?.seedFile.map { " with \($0)" } ?? "")
        guard LibCrypto.isReady else { throw NATSError(.other, "\(task) failed: libcrypto cannot be used") }
        try options.validate()
        if case .file(let path) = options.credentials { try check(credentialsFile: path) }
        var raw: OpaquePointer?
        guard natsOptions_Create(&raw) == NATS_OK, let raw else {
            throw NATSError(.other, "\(task) failed: out of memory")
        }
        defer { natsOptions_Destroy(raw) }
        var status = set(options, on: raw)
        guard status == NATS_OK else {
            // Usually a file that cannot be read. The contents of a password file are not quoted.
            throw NATSError(status, during: task)
        }
        status = setCallbacks(on: raw, UnsafeMutableRawPointer(bitPattern: closure))
        guard status == NATS_OK else { throw NATSError(status, during: task) }
        var connection: OpaquePointer?
        // libnats 3.4.1 omits a signature that begins with a zero byte, which 1 of 256 does. The next login has another
        // one.
        for _ in 1...(options.credentials?.seedFile == nil ? 1 : 3) {
            status = natsConnection_Connect(&connection, raw)
            if status != NATS_CONNECTION_AUTH_FAILED { break }
        }
        guard status == NATS_OK, let connection else { throw NATSError(status, during: task) }
        return connection
    }

    /// libnats treats an empty file or a folder as no credentials, and waits forever for a pipe, which it reads twice.
    private static func check(credentialsFile path: String) throws(NATSError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw NATSError(
                .invalidArgument, "the credentials file \(path) cannot be read: \(String(cString: strerror(errno)))")
        }
        let isFile = status.st_mode & S_IFMT == S_IFREG && status.st_size <= 1 << 20
        let text = isFile ? FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } : nil
        guard let text, text.contains("BEGIN NATS USER JWT"), text.contains("BEGIN USER NKEY SEED") else {
            throw NATSError(
                .invalidArgument,
                "the credentials file \(path) cannot be used: it is no file with a user JWT and its seed")
        }
    }

    // MARK: Options

    /// Overrides unsuitable defaults: libnats would notice a dead link only after minutes, and accept messages without
    /// a connection, only to send them after they have timed out.
    private static func set(_ options: NATSOptions, on raw: OpaquePointer) -> natsStatus {
        let urls = options.serverURLs.map { strdup($0) }
        defer { urls.forEach { free($0) } }
        var pointers = urls.map { UnsafePointer($0) }
        return firstFailure([
            {
                natsOptions_SetServers(raw, &pointers, Int32(pointers.count))
            },
            {
                natsOptions_SetName(raw, options.name)
            },
            {
                natsOptions_SetSendAsap(raw, options.writesAtOnce)
            },
            {
                natsOptions_SetTimeout(raw, 2000)
            },
            {
                natsOptions_SetPingInterval(raw, 1000)
            },
            {
                natsOptions_SetMaxPingsOut(raw, 2)
            },
            {
                natsOptions_SetMaxReconnect(raw, -1)
            },
            {
                natsOptions_SetReconnectWait(raw, 250)
            },
            {
                natsOptions_SetReconnectJitter(raw, 250, 250)
            },
            {
                natsOptions_SetReconnectBufSize(raw, 1)
            },
            {
                natsOptions_SetFailRequestsOnDisconnect(raw, true)
            },
            {
                natsOptions_SetWriteDeadline(raw, 2000)
            },
            {
                natsOptions_SetNoEcho(raw, true)
            },
            {
                natsOptions_SetIgnoreDiscoveredServers(raw, !options.followsDiscoveredServers)
            },
            {
                natsOptions_SetCustomInboxPrefix(raw, options.inboxPrefix)
            },
            {
                setIdentity(options.credentials, on: raw)
            },
            {
                setTLS(options, on: raw)
            },
        ])
    }

    private static func setIdentity(_ credentials: NATSCredentials?, on raw: OpaquePointer) -> natsStatus {
        switch credentials {
        case .file(let path): natsOptions_SetUserCredentialsFromFiles(raw, path, nil)
        case .user(let user, let password): natsOptions_SetUserInfo(raw, user, password)
        case .token(let token): natsOptions_SetToken(raw, token)
        case .nkey(let key, let seedFile): natsOptions_SetNKeyFromSeed(raw, key, seedFile)
        case nil: NATS_OK
        }
    }

    private static func setTLS(_ options: NATSOptions, on raw: OpaquePointer) -> natsStatus {
        guard options.usesTLS else { return NATS_OK }
        return firstFailure([
            {
                natsOptions_SetSecure(raw, true)
            },
            {
                options.tls?.authorityFile.map { natsOptions_LoadCATrustedCertificates(raw, $0) } ?? NATS_OK
            },
            {
                options.tls?.certificate.map { natsOptions_LoadCertificatesChain(raw, $0.file, $0.keyFile) } ?? NATS_OK
            },
            {
                options.expectedHostName.map { natsOptions_SetExpectedHostname(raw, $0) } ?? NATS_OK
            },
        ])
    }

    private static func setCallbacks(on raw: OpaquePointer, _ closure: UnsafeMutableRawPointer?) -> natsStatus {
        firstFailure([
            {
                natsOptions_SetDisconnectedCB(
                    raw,
                    { _, closure in NATSCallbacks.object(of: closure, as: NATSConnection.self)?.linkWasLost(closure) },
                    closure)
            },
            {
                natsOptions_SetReconnectedCB(
                    raw,
                    { _, closure in NATSCallbacks.object(of: closure, as: NATSConnection.self)?.linkReturned(closure) },
                    closure)
            },
            {
                natsOptions_SetClosedCB(
                    raw,
                    { _, closure in NATSCallbacks.object(of: closure, as: NATSConnection.self)?.linkClosed(closure) },
                    closure)
            },
            {
                natsOptions_SetErrorHandler(
                    raw,
                    { _, _, status, closure in
                        NATSCallbacks.object(of: closure, as: NATSConnection.self)?.errorCame(
                            status, NATSError.lastText)
                    }, closure)
            },
        ])
    }

    private static func firstFailure(_ steps: [() -> natsStatus]) -> natsStatus {
        for step in steps {
            let status = step()
            if status != NATS_OK { return status }
        }
        return NATS_OK
    }

    func isOf(_ closure: UnsafeMutableRawPointer?) -> Bool { self.closure == UInt(bitPattern: closure) }
}
