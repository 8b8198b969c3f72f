public import JSONBytes
import MatrixProtocol
import Transport

/// The authentication a server requires before an action (client-server specification, "User-Interactive
/// Authentication").
public struct MXAuthenticationSession: Sendable {
    /// One way to authenticate: all of these stages, in order.
    public struct Flow: Sendable, Hashable, Codable {
        /// The stages, such as `m.login.password`.
        public let stages: [String]
    }

    /// The server's identifier of this conversation.
    public let session: String?
    /// The ways to authenticate; one is enough.
    public let flows: [Flow]
    /// The completed stages.
    public let completed: [String]
    /// Parameters of the stages, by stage.
    public let params: JSONView?
    /// Why the last stage was rejected; `nil` if it was accepted.
    public let error: MXError?

    init?(status: Int, body: [UInt8]) {
        guard status == 401, let json = JSONView(body), let flows = json["flows"]?.array else { return nil }
        self.flows = flows.map { Flow(stages: $0["stages"]?.array?.compactMap(\.string) ?? []) }
        session = json["session"]?.string
        completed = json["completed"]?.array?.compactMap(\.string) ?? []
        params = json["params"]
        error = MXError(status: status, body: body)
    }

    /// The stages still to complete, on the shortest way.
    public var remainingStages: [String] {
        flows.map { $0.stages.filter { !completed.contains($0) } }.min { $0.count < $1.count } ?? []
    }
}

/// The data that completes a stage. Printing it shows only its type.
public struct MXAuthenticationStage: Sendable, CustomStringConvertible, CustomReflectable {
    /// The type, such as `m.login.password`; `nil` for a stage completed outside, in a browser.
    public let type: String?
    let content: EncodedJSON

    /// Creates a stage of any type with its fields. The session is added automatically.
    public init(type: String?, _ fields: [String: Any] = [:]) {
        self.type = type
        var fields = fields
        fields["type"] = type
        content = EncodedJSON(fields)
    }

    /// `m.login.dummy`: no action required.
    public static var dummy: MXAuthenticationStage { MXAuthenticationStage(type: "m.login.dummy") }

    /// `m.login.terms`: the user has accepted the terms.
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

    /// A stage completed on its fallback page.
    public static var completedOutside: MXAuthenticationStage { MXAuthenticationStage(type: nil) }

    /// The type, never the credentials.
    public var description: String { "authentication stage \(type ?? "completed outside")" }
    /// A mirror without the stage's fields.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The progress of a call that the server guards with user-interactive authentication.
public enum MXInteractiveStep<Value: Sendable>: Sendable {
    /// The call is complete.
    case completed(Value)
    /// The server requires another stage; continue with ``MXInteractiveChallenge/submit(_:)``.
    case challenge(MXInteractiveChallenge<Value>)

    /// The result; `nil` while the server requires another stage.
    public var value: Value? {
        if case .completed(let value) = self { value } else { nil }
    }

    /// Answers challenges until the call completes.
    ///
    /// - Parameter answer: Returns the stage to submit, or `nil` to give up, which throws
    ///   `MatrixError.Code.interactionRequired`.
    /// - Throws: Also the server's error when it rejects a stage.
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

/// A call waiting for authentication. You can keep it, and answer it more than once.
public struct MXInteractiveChallenge<Value: Sendable>: Sendable {
    /// The authentication the server requires.
    public let authentication: MXAuthenticationSession
    package let client: MXRestClient
    let resume: @Sendable (EncodedJSON) async throws -> MXInteractiveStep<Value>

    /// Repeats the call with a completed stage.
    public func submit(_ stage: MXAuthenticationStage) async throws -> MXInteractiveStep<Value> {
        let fields = JSONView(try stage.content.bytes.get())?.foundation as? [String: Any] ?? [:]
        var auth = fields
        auth["session"] = authentication.session
        return try await resume(EncodedJSON(auth))
    }
}

extension MXRestClient {
    /// Makes a call that may require authentication.
    ///
    /// - Parameter body: The body of the call, without `auth`.
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

/// An answer that is a challenge rather than a failure.
struct InteractionWanted: Error {
    let session: MXAuthenticationSession
}
