import JSONBytes

/// The methods with which two sides can verify each other.
package enum VerificationMethod: String, Sendable, CaseIterable {
    /// Both users compare emoji or numbers.
    case sas = "m.sas.v1"
    case showCode = "m.qr_code.show.v1"
    case scanCode = "m.qr_code.scan.v1"
    /// The side that has scanned a code reports it. Used together with the two methods above.
    case reciprocate = "m.reciprocate.v1"

    /// The method that the other side must support.
    var counterpart: VerificationMethod {
        switch self {
        case .sas: .sas
        case .showCode: .scanCode
        case .scanCode: .showCode
        case .reciprocate: .reciprocate
        }
    }
}

/// The reason why a verification ended without a result.
package enum VerificationCancelCode: String, Error, Sendable, CaseIterable {
    case user = "m.user"
    case timeout = "m.timeout"
    case unknownTransaction = "m.unknown_transaction"
    case unknownMethod = "m.unknown_method"
    case unexpectedMessage = "m.unexpected_message"
    case keyMismatch = "m.key_mismatch"
    case userMismatch = "m.user_mismatch"
    case invalidMessage = "m.invalid_message"
    /// Another device of the same user has accepted the request.
    case accepted = "m.accepted"
    case mismatchedCommitment = "m.mismatched_commitment"
    case mismatchedSAS = "m.mismatched_sas"

    /// An English explanation for the peer's log.
    package var reason: String {
        switch self {
        case .user: "The user cancelled the verification."
        case .timeout: "The verification timed out."
        case .unknownTransaction: "This device doesn't know the verification."
        case .unknownMethod: "The two devices have no method in common."
        case .unexpectedMessage: "The message was not expected."
        case .keyMismatch: "The keys don't match."
        case .userMismatch: "The user doesn't match."
        case .invalidMessage: "The message was invalid."
        case .accepted: "Another device accepted the request."
        case .mismatchedCommitment: "The key doesn't match its commitment."
        case .mismatchedSAS: "The users saw different emoji or numbers."
        }
    }
}

/// The event types of verifications.
enum VerificationEventType: String, Sendable {
    case request = "m.key.verification.request"
    case ready = "m.key.verification.ready"
    case start = "m.key.verification.start"
    case accept = "m.key.verification.accept"
    case key = "m.key.verification.key"
    case mac = "m.key.verification.mac"
    case done = "m.key.verification.done"
    case cancel = "m.key.verification.cancel"

    static let prefix = "m.key.verification."

    /// Returns whether a message of this type must be sent after those before it.
    ///
    /// A cancel need not wait, so a peer that makes us cancel many verifications blocks nothing.
    static func isOrdered(_ type: String) -> Bool { type.hasPrefix(prefix) && type != cancel.rawValue }
}

/// A verification event to send.
struct VerificationEvent: Sendable, Equatable {
    let type: VerificationEventType
    let content: JSONView
}

/// A peer's message after a verification was requested.
enum VerificationMessage: Sendable, Equatable {
    case ready(device: String, Set<VerificationMethod>)
    case start(VerificationStart)
    case accept(SASAcceptance)
    case key(Curve25519PublicKey)
    /// The content, with both members of their types.
    case mac(JSONView)
    case done
    /// A cancel; `nil` if the code is unknown.
    case cancel(VerificationCancelCode?)

    /// - Throws: The code to cancel with. A `cancel` is never refused.
    init(_ type: VerificationEventType, _ content: JSONView) throws(VerificationCancelCode) {
        switch type {
        case .request: throw .unexpectedMessage
        case .ready:
            guard let device = content["from_device"]?.idText, let methods = content["methods"]?.verificationMethods
            else { throw .invalidMessage }
            self = .ready(device: device, methods)
        case .start: self = .start(try VerificationStart(content))
        case .accept: self = .accept(try SASAcceptance(content))
        case .key:
            guard let key = content["key"]?.string.flatMap({ try? Curve25519PublicKey(base64: $0) }) else {
                throw .invalidMessage
            }
            self = .key(key)
        case .mac:
            guard content["mac"]?.isObject == true, content["keys"]?.string != nil else { throw .invalidMessage }
            self = .mac(content.detached)
        case .done: self = .done
        case .cancel: self = .cancel(content["code"]?.string.flatMap(VerificationCancelCode.init))
        }
    }
}

/// A request for a verification.
struct VerificationRequest: Sendable, Equatable {
    let device: String
    let methods: Set<VerificationMethod>

    init?(_ content: JSONView) {
        guard let device = content["from_device"]?.idText, let methods = content["methods"]?.verificationMethods else {
            return nil
        }
        (self.device, self.methods) = (device, methods)
    }
}

/// `m.key.verification.start`: one side has chosen a method.
struct VerificationStart: Sendable, Equatable {
    enum Method: Sendable, Equatable {
        case sas(SASOffer)
        /// The secret of the code that the peer has scanned, in base64.
        case reciprocate(secret: String)

        func isSame(as other: Method) -> Bool {
            switch (self, other) {
            case (.sas, .sas), (.reciprocate, .reciprocate): true
            case (.sas, .reciprocate), (.reciprocate, .sas): false
            }
        }
    }

    let device: String
    let method: Method
    /// The complete content as received: the commitment covers unknown members, too.
    let content: JSONView

    init(_ content: JSONView) throws(VerificationCancelCode) {
        guard let device = content["from_device"]?.idText, let method = content["method"]?.string else {
            throw .invalidMessage
        }
        switch VerificationMethod(rawValue: method) {
        case .sas: self.method = .sas(try SASOffer(content))
        case .reciprocate:
            guard let secret = content["secret"]?.string else { throw .invalidMessage }
            self.method = .reciprocate(secret: secret)
        case .showCode, .scanCode, nil: throw .unknownMethod
        }
        (self.device, self.content) = (device, content.detached)
    }
}

/// The values that users can compare.
enum SASKind: String, Sendable, CaseIterable {
    case decimal
    case emoji
}

/// The capabilities of the side that starts, limited to those that we share.
struct SASOffer: Sendable, Equatable {
    /// The method for the codes: v2 whenever it is offered.
    let codes: SASCodeMethod
    let kinds: Set<SASKind>

    init(_ content: JSONView) throws(VerificationCancelCode) {
        func texts(_ key: String) throws(VerificationCancelCode) -> [String] {
            guard let array = content[key]?.array else { throw .invalidMessage }
            return array.compactMap(\.string)
        }
        let codes = try texts("message_authentication_codes").compactMap(SASCodeMethod.init)
        kinds = Set(try texts("short_authentication_string").compactMap(SASKind.init))
        guard try texts("key_agreement_protocols").contains(SASKeyAgreement.hkdf.rawValue),
            try texts("hashes").contains(SASAcceptance.hash), let first = codes.first, !kinds.isEmpty
        else { throw .unknownMethod }
        self.codes = codes.contains(.v2) ? .v2 : first
    }
}

/// `m.key.verification.accept`: the other side's choice, and the commitment to its key.
struct SASAcceptance: Sendable, Equatable {
    static let hash = "sha256"

    let codes: SASCodeMethod
    let kinds: Set<SASKind>
    let commitment: String

    init(codes: SASCodeMethod, kinds: Set<SASKind>, commitment: String) {
        (self.codes, self.kinds, self.commitment) = (codes, kinds, commitment)
    }

    /// - Throws: `unknownMethod` if we have not offered it.
    init(_ content: JSONView) throws(VerificationCancelCode) {
        guard let agreement = content["key_agreement_protocol"]?.string, let hash = content["hash"]?.string,
            let codes = content["message_authentication_code"]?.string,
            let kinds = content["short_authentication_string"]?.array?.map(\.string),
            let commitment = content["commitment"]?.idText
        else { throw .invalidMessage }
        let known = Set(kinds.compactMap { $0.flatMap(SASKind.init) })
        guard agreement == SASKeyAgreement.hkdf.rawValue, hash == Self.hash, !kinds.isEmpty,
            known.count == Set(kinds).count, let codes = SASCodeMethod(rawValue: codes)
        else { throw .unknownMethod }
        self.init(codes: codes, kinds: known, commitment: commitment)
    }
}

extension JSONView {
    /// The text, if it is neither empty nor longer than a Matrix id can be.
    var idText: String? { string.flatMap { 1...255 ~= $0.utf8.count ? $0 : nil } }

    /// The known methods; `nil` if this is not a list.
    fileprivate var verificationMethods: Set<VerificationMethod>? {
        array.map { Set($0.compactMap { $0.string.flatMap(VerificationMethod.init) }) }
    }
}
