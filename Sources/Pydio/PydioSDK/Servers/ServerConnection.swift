import Basics
import CurlTransport
import PydioProtocol
import Transport

/// The target of requests. Sends one request once.
struct ServerConnection: Sendable {
    let server: ServerAddress
    let settings: PydioRequest.Settings
    let network: NetworkOptions

    init(_ server: ServerAddress, options: PydioClientOptions) {
        self.server = server
        settings = options.settings
        network = options.network
    }

    /// Sends a request. Accepts any status as an answer.
    func send(
        _ request: PydioRequest, as pass: RequestPass, onProgress: (@Sendable (HTTPProgress) -> Void)? = nil
    ) async throws(PydioError) -> HTTPResponse {
        var request = try request.httpRequest(to: server, as: pass, settings, boundary: "pydio-" + Self.randomText())
        // Servers close idle connections, and then it is unknown whether they carried out a request.
        if !request.isSafeToRepeat { request.usesConnectionsSince = .now }
        do throws(TransportError) {
            return try await HTTPClient.send(request, options: network, onProgress: onProgress)
        } catch {
            throw PydioError(error)
        }
    }

    /// Returns 32 random hexadecimal digits.
    static func randomText() -> String {
        UUID().uuidString.replacing("-", with: "").lowercased()
    }

    /// The current time in seconds since 1970.
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

    /// Converts any error into this type, the only one that calls throw.
    init(any error: any Error) {
        switch error {
        case let error as PydioError: self = error
        case let error as TransportError: self.init(error)
        case is CancellationError: self = .cancelled
        default: self.init(.network, "the operation failed: \(type(of: error))")
        }
    }
}
