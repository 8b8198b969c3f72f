import Basics
import CurlTransport
import PydioProtocol
import Transport

/// Where requests go, and how one is sent once.
struct ServerConnection: Sendable {
    let server: ServerAddress
    let settings: PydioRequest.Settings
    let network: NetworkOptions

    init(_ server: ServerAddress, options: PydioClientOptions) {
        self.server = server
        settings = options.settings
        network = options.network
    }

    /// Any status is an answer.
    func send(
        _ request: PydioRequest, as pass: RequestPass, onProgress: (@Sendable (HTTPProgress) -> Void)? = nil
    ) async throws(PydioError) -> HTTPResponse {
        var request = try request.httpRequest(to: server, as: pass, settings, boundary: "pydio-" + Self.randomText())
        // Servers close idle connections, which leaves open whether they have carried out what came over them.
        if !request.isSafeToRepeat { request.usesConnectionsSince = .now }
        do throws(TransportError) {
            return try await HTTPClient.send(request, options: network, onProgress: onProgress)
        } catch {
            throw PydioError(error)
        }
    }

    /// 32 hexadecimal digits.
    static func randomText() -> String {
        UUID().uuidString.replacing("-", with: "").lowercased()
    }

    /// Seconds since 1970.
    static var timeOfDay: Int { Int(Date().timeIntervalSince1970) }
}

extension PydioError {
    init(_ error: TransportError) {
        let code: Code =
            switch error.kind {
            case .invalidArgument: .invalidArgument
            case .timedOut: .timedOut
            case .cancelled: .cancelled
            case .tooLarge: .tooLarge
            case .file: .file
            case .network: .network
            }
        self.init(code, error.message)
    }

    /// What a call can throw is one of these.
    init(any error: any Error) {
        switch error {
        case let error as PydioError: self = error
        case let error as TransportError: self.init(error)
        case is CancellationError: self = .cancelled
        default: self.init(.network, "the operation failed: \(type(of: error))")
        }
    }
}
