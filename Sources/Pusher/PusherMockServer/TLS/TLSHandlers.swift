import NIOCore

extension PusherMockServer {
    /// Whether this build supports TLS. BoringSSL takes most of the server's build time, so TLS is a trait of the
    /// package.
    package static var speaksTLS: Bool {
        #if MockServerTLS
            true
        #else
            false
        #endif
    }
}

#if MockServerTLS
    import Glibc
    import NIOSSL

    /// TLS on the server's connections.
    struct ServerTLS: Sendable {
        private let context: NIOSSLContext

        init(_ files: PusherMockServer.TLS) throws(PusherMockServerError) {
            let chain = try Self.chain(in: files.certificatePath)
            let key = try Self.privateKey(in: files.privateKeyPath)
            do {
                context = try NIOSSLContext(
                    configuration: .makeServerConfiguration(
                        certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key)))
            } catch {
                throw PusherMockServerError(
                    .privateKey,
                    "the private key \(files.privateKeyPath) does not belong to the certificate "
                        + files.certificatePath)
            }
        }

        private static func chain(in path: String) throws(PusherMockServerError) -> [NIOSSLCertificate] {
            let bytes = try contents(of: path, .certificate, "certificate")
            guard let chain = try? NIOSSLCertificate.fromPEMBytes(bytes), !chain.isEmpty else {
                throw PusherMockServerError(.certificate, "\(path) does not hold a certificate in PEM form")
            }
            return chain
        }

        private static func privateKey(in path: String) throws(PusherMockServerError) -> NIOSSLPrivateKey {
            let bytes = try contents(of: path, .privateKey, "private key")
            // There is no prompt for a passphrase, so an encrypted key fails.
            guard let key = try? NIOSSLPrivateKey(bytes: bytes, format: .pem) else {
                throw PusherMockServerError(
                    .privateKey, "\(path) does not hold a private key in PEM form, or the key is encrypted")
            }
            return key
        }

        private static func contents(
            of path: String, _ code: PusherMockServerError.Code, _ what: String
        ) throws(PusherMockServerError) -> [UInt8] {
            var status = stat()
            guard stat(path, &status) == 0, let file = fopen(path, "r") else {
                let reason = String(cString: strerror(errno))
                throw PusherMockServerError(code, "cannot read the \(what) \(path): \(reason)")
            }
            defer { fclose(file) }
            guard status.st_mode & S_IFMT != S_IFDIR else {
                throw PusherMockServerError(code, "cannot read the \(what) \(path): it is a directory")
            }
            var bytes: [UInt8] = []
            var part = [UInt8](repeating: 0, count: 1 << 16)
            while case let count = fread(&part, 1, part.count, file), count > 0, bytes.count < maximumFileSize {
                bytes += part[..<count]
            }
            return bytes
        }

        /// The maximum bytes of a file. No certificate chain is longer, and a device would never end.
        private static let maximumFileSize = 1 << 20

        func addHandler(to pipeline: ChannelPipeline.SynchronousOperations) throws {
            try pipeline.addHandler(NIOSSLServerHandler(context: context))
        }
    }

    enum WebhookTLS {
        static func addHandler(to pipeline: ChannelPipeline.SynchronousOperations, host: String) throws {
            let context = try NIOSSLContext(configuration: .makeClientConfiguration())
            do {
                try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: host))
            } catch let error as NIOSSLExtraError where error == .cannotUseIPAddressInSNI {
                try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: nil))
            }
        }
    }
#else
    extension PusherMockServerError {
        fileprivate static let withoutTLS = PusherMockServerError(
            .tlsUnavailable, "this server was built without TLS: enable the package trait MockServerTLS")
    }

    /// A placeholder for a server built without TLS.
    struct ServerTLS: Sendable {
        init(_ files: PusherMockServer.TLS) throws(PusherMockServerError) { throw .withoutTLS }

        func addHandler(to pipeline: ChannelPipeline.SynchronousOperations) throws {
            throw PusherMockServerError.withoutTLS
        }
    }

    /// A placeholder for webhooks without TLS.
    enum WebhookTLS {
        static func addHandler(to pipeline: ChannelPipeline.SynchronousOperations, host: String) throws {
            throw PusherMockServerError.withoutTLS
        }
    }
#endif
