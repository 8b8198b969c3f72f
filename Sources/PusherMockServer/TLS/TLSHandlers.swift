import NIOCore

extension PusherMockServer {
    /// Whether this build can: BoringSSL is most of what building the server takes, so TLS is a trait of the package.
    package static var speaksTLS: Bool {
        #if MockServerTLS
            true
        #else
            false
        #endif
    }
}

#if MockServerTLS
    import NIOSSL

    /// What speaks TLS on the server's connections.
    struct ServerTLS: Sendable {
        private let context: NIOSSLContext

        init(_ files: PusherMockServer.TLS) throws(PusherMockServerError) {
            do {
                let chain = try NIOSSLCertificate.fromPEMFile(files.certificatePath)
                let key = try NIOSSLPrivateKey(file: files.privateKeyPath, format: .pem)
                context = try NIOSSLContext(
                    configuration: .makeServerConfiguration(
                        certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key)))
            } catch {
                throw PusherMockServerError(
                    .tls, "cannot use \(files.certificatePath) with \(files.privateKeyPath): \(error)")
            }
        }

        func addHandler(to pipeline: ChannelPipeline.SynchronousOperations) throws {
            try pipeline.addHandler(NIOSSLServerHandler(context: context))
        }
    }

    /// What speaks TLS on the connections of webhooks.
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
            .tls, "this server was built without TLS: enable the package trait MockServerTLS")
    }

    /// Stands for a server that was built without TLS.
    struct ServerTLS: Sendable {
        init(_ files: PusherMockServer.TLS) throws(PusherMockServerError) { throw .withoutTLS }

        func addHandler(to pipeline: ChannelPipeline.SynchronousOperations) throws {
            throw PusherMockServerError.withoutTLS
        }
    }

    /// The same for webhooks.
    enum WebhookTLS {
        static func addHandler(to pipeline: ChannelPipeline.SynchronousOperations, host: String) throws {
            throw PusherMockServerError.withoutTLS
        }
    }
#endif
