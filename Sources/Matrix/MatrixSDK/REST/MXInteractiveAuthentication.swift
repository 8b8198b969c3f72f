public import JSONBytes
import MatrixProtocol
import Transport

/// What the server asks for before it does something (client-server specification, "User-Interactive Authentication").
public struct MXAuthenticationSession: Sendable {
    /// A way through: all of these stages, in order.
    public struct Flow: Sendable, Hashable, Codable {
        /// Such as `m.login.password`.
        public let stages: [String]
    }

    /// The server's name for this conversation.
    public let session: String?
    /// The ways through; one is enough.
    public let flows: [Flow]
    /// Stages that are done.
    public let completed: [String]
    /// What stages need, by stage.
    public let params: JSONView?
    /// Why the last stage was not accepted; nil if it was.
    public let error: MXError?

    init?(status: Int, body: [UInt8]) {
        guard status == 401, let json = JSONView(body), let flows = json["flows"]?.array else { return nil }
        self.flows = flows.map { Flow(stages: $0["stages"]?.array?.compactMap(\.string) ?? []) }
        session = json["session"]?.string
        completed = json["completed"]?.array?.compactMap(\.string) ?? []
        params = json["params"]
        error = MXError(status: status, body: body)
    }

    /// The stages that are still to be done, on the shortest way.
    public var remainingStages: [String] {
        flows.map { $0.stages.filter { !completed.contains($0) } }.min { $0.count < $1.count } ?? []
    }
}

/// What is done to complete a stage. Printing one shows its type alone.
public struct MXAuthenticationStage: Sendable, CustomStringConvertible, CustomReflectable {
    /// Such as `m.login.password`; nil for a stage that was completed outside, in a browser.
    public let type: String?
    let content: EncodedJSON

    /// Any stage with its fields. The session is added.
    public init(type: String?, _ fields: [String: Any] = [:]) {
        self.type = type
        var fields = fields
        fields["type"] = type
        content = EncodedJSON(fields)
    }

    /// `m.login.dummy`: nothing to do.
    public static var dummy: MXAuthenticationStage { MXAuthenticationStage(type: "m.login.dummy") }

    /// `m.login.terms`: the user has agreed.
    public static var terms: MXAuthenticationStage { MXAuthenticationStage(type: "m.login.terms") }

    /// `m.login.password`.
    public static func password(_ password: String, userId: String) -> MXAuthenticationStage {
        MXAuthenticationStage(
            type: "m.login.password",
            ["identifier": ["type": "m.id.user", "user": userId], "password": password])
    }

    /// `m.login.registration_token`.
    public static func registrationToken(_ token: String) -> MXAuthenticationStage {
        MXAuthenticationStage(type: "m.login.registration_token", ["token": token])
    }

    /// A stage that was completed on its fallback page.
    public static var completedOutside: MXAuthenticationStage { MXAuthenticationStage(type: nil) }

    /// The type, never what proves who one is.
    public var description: String { "authentication stage \(type ?? "completed outside")" }
    /// Nothing of the stage's fields.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Where a call is that the server guards by user-interactive authentication.
public enum MXInteractiveStep<Value: Sendable>: Sendable {
    /// It is done.
    case completed(Value)
    /// The server asks for more: ``MXInteractiveChallenge/submit(_:)`` goes on.
    case challenge(MXInteractiveChallenge<Value>)

    /// What it gave; nil while the server asks for more.
    public var value: Value? {
        if case .completed(let value) = self { value } else { nil }
    }

    /// Goes on until it is done.
    ///
    /// - Parameter answer: What to submit; nil gives up, and then `MatrixError.Code.interactionRequired` is thrown.
    /// - Throws: Also what the server says of a stage that it does not accept.
    public func completed(
        by answer: (MXAuthenticationSession) async throws -> MXAuthenticationStage?
    ) async throws -> Value {
        var step = self
        for _ in 0..<20 {
            switch step {
            case .completed(let value): return value
            case .challenge(let challenge):
                if let error = challenge.authentication.error { throw error }
                guard let stage = try await answer(challenge.authentication) else {
                    throw MatrixError(
                        .interactionRequired,
                        "the server asks for \(challenge.authentication.remainingStages.joined(separator: ", "))")
                }
                step = try await challenge.submit(stage)
            }
        }
        throw MatrixError(.badResponse, "the server still asks for authentication after 20 stages; given up")
    }
}

/// A call that waits for its user. It may be kept, and answered several times.
public struct MXInteractiveChallenge<Value: Sendable>: Sendable {
    /// What the server asks for.
    public let authentication: MXAuthenticationSession
    package let client: MXRestClient
    let resume: @Sendable (EncodedJSON) async throws -> MXInteractiveStep<Value>

    /// Makes the call again with a stage completed.
    public func submit(_ stage: MXAuthenticationStage) async throws -> MXInteractiveStep<Value> {
        let fields = JSONView(try stage.content.bytes.get())?.foundation as? [String: Any] ?? [:]
        var auth = fields
        auth["session"] = authentication.session
        return try await resume(EncodedJSON(auth))
    }
}

extension MXRestClient {
    /// Makes a call that may have to be authenticated.
    ///
    /// - Parameter body: Of the call, without `auth`.
    func interactive<Value: Sendable>(
        _ call: APICall, auth: EncodedJSON? = nil, _ decode: @escaping @Sendable (HTTPResponse) throws -> Value
    ) async throws -> MXInteractiveStep<Value> {
        var authenticated = call
        authenticated.isInteractive = true
        if let auth {
            var object = JSONView(try (call.body ?? .empty).bytes.get())?.foundation as? [String: Any] ?? [:]
            object["auth"] = JSONView(try auth.bytes.get())?.foundation
            authenticated.body = EncodedJSON(object)
        }
        do {
            return .completed(try decode(try await response(to: authenticated)))
        } catch let challenge as InteractionWanted {
            return .challenge(
                MXInteractiveChallenge(authentication: challenge.session, client: self) { [self] stage in
                    try await interactive(call, auth: stage, decode)
                })
        }
    }
}

/// An answer that is a challenge and no failure.
struct InteractionWanted: Error {
    let session: MXAuthenticationSession
}
