import Basics
import Realtime

/// The signed requests on this connection that the server has not answered, in the order in which they were sent.
///
/// A server refuses a signature with an error that names nothing (Pusher protocol, "Error events"). It answers in order,
/// so the error belongs to the oldest request.
struct SignedRequests: Sendable {
    enum Request: Hashable, Sendable {
        case subscription(ByteKey)
        case signIn

        var channelName: String? {
            switch self {
            case .subscription(let name): String(decoding: name.bytes, as: UTF8.self)
            case .signIn: nil
            }
        }
    }

    private var requests: [Request] = []
    private var head = 0

    var oldest: Request? { head < requests.count ? requests[head] : nil }

    var isForSignInAlone: Bool { requests[head...].allSatisfy { $0 == .signIn } }

    mutating func sent(_ request: Request) { requests.append(request) }

    /// Removes the oldest request of this kind and name, which the server has answered.
    mutating func answered(_ request: Request) {
        guard let index = requests[head...].firstIndex(of: request) else { return }
        guard index == head else {
            requests.remove(at: index)
            return
        }
        head += 1
        if head * 2 >= requests.count {
            requests.removeFirst(head)
            head = 0
        }
    }

    /// Returns the request whose signed text begins like this after the socket id and a colon: with the channel's name,
    /// or with `:user::` (Pusher protocol, "Signatures").
    func named(by signed: Substring.UTF8View) -> Request? {
        requests[head...].first { request in
            switch request {
            case .signIn: return signed.starts(with: ":user::".utf8)
            case .subscription(let name):
                guard signed.starts(with: name.bytes) else { return false }
                // The rest must not belong to a longer name, but be the channel's data or the server's own text.
                let rest = signed.dropFirst(name.bytes.count)
                return rest.isEmpty || rest.first == UInt8(ascii: ":") || rest.starts(with: ", but got".utf8)
            }
        }
    }
}
