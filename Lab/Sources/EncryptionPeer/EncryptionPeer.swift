// MatrixEncryption as a process, for comparison with other implementations: one request per line, one answer per line.
//
//     {"do":"olm.encrypt","session":"a","text":"aGk"}             {"type":0,"body":"AwogI…"}
//     {"do":"olm.decrypt","session":"a","type":1,"body":"AwogQ"}  {"refused":"length"}
//
// The client chooses the names of accounts and sessions; `forget` drops them. Texts, keys and messages are unpadded
// base64. Peers of other implementations use the same format: Lab/encryption-peers.
import Glibc
import JSONBytes
import MatrixEncryption

@main
struct EncryptionPeer {
    static func main() {
        var peer = Peer()
        while let line = readLine() {
            print(peer.answer(to: line).text)
            fflush(nil)
        }
    }
}

/// Accounts and sessions by name.
struct Peer {
    typealias Operation = @Sendable (inout Peer, JSONView) throws -> JSONWriter

    var accounts: [String: OlmAccount] = [:]
    var sessions: [String: OlmSession] = [:]
    var outbound: [String: OutboundGroupSession] = [:]
    var inbound: [String: InboundGroupSession] = [:]
    var verifications: [String: SASKeys] = [:]

    private static let operations: [String: Operation] = [
        olm, megolm, verification, storage, files,
    ].reduce([:]) { $0.merging($1) { first, _ in first } }

    mutating func answer(to line: String) -> JSONWriter {
        var answer = JSONWriter()
        do {
            guard let request = JSONView(Array(line.utf8)) else { throw Misuse("this is not JSON") }
            switch try request.text("do") {
            case "operations": answer.add("operations", Self.operations.keys.sorted())
            case "forget": self = Peer()
            case let name:
                guard let operation = Self.operations[name] else { throw Misuse("there is no \(name)") }
                answer = try operation(&self, request)
            }
        } catch let refusal as EncryptionError {
            answer.add("refused", refusal.rawValue)
        } catch {
            answer.add("error", "\(error)")
        }
        return answer
    }
}

/// An error in a request.
struct Misuse: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension JSONView {
    func value(_ key: String) throws -> JSONView {
        guard let value = self[key] else { throw Misuse("\(key) is missing") }
        return value
    }

    func text(_ key: String) throws -> String {
        guard let text = self[key]?.string else { throw Misuse("\(key) is no text") }
        return text
    }

    func number(_ key: String) throws -> Int {
        guard let number = self[key]?.int else { throw Misuse("\(key) is no whole number") }
        return number
    }

    func index(_ key: String) throws -> UInt32 {
        guard let index = UInt32(exactly: try number(key)) else { throw Misuse("\(key) is no index") }
        return index
    }

    /// The bytes of a base64 text.
    func secret(_ key: String) throws -> SecretBytes { try UnpaddedBase64.decodeSecret(try text(key)) }

    func bytes(_ key: String) throws -> [UInt8] { try UnpaddedBase64.decode(try text(key)) }

    func curve25519(_ key: String) throws -> Curve25519PublicKey { try Curve25519PublicKey(base64: try text(key)) }

    /// Public keys by ID.
    func keys(_ key: String) throws -> [String: Ed25519PublicKey] {
        var keys: [String: Ed25519PublicKey] = [:]
        for (id, value) in try value(key).members { keys[id] = try Ed25519PublicKey(base64: value.string ?? "") }
        return keys
    }
}

extension JSONWriter {
    init(_ key: String, _ value: JSONView) {
        self.init()
        add(key, value)
    }

    init(_ key: String, _ value: String) {
        self.init()
        add(key, value)
    }

    init(_ key: String, _ secret: SecretBytes) { self.init(key, UnpaddedBase64.encode(secret)) }

    mutating func add(_ key: String, _ number: some BinaryInteger) { add(key, json: "\(number)") }

    mutating func add(_ key: String, _ texts: [String]) {
        add(key, json: "[" + texts.map(JSONString.quoted).joined(separator: ",") + "]")
    }
}
