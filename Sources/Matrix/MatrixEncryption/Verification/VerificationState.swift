import Basics
import JSONBytes

extension Verification {
    /// Whoever begins a verification chooses its id: the ids of two users may be the same.
    package struct ID: Hashable, Sendable {
        /// The other user; our own for another device of our own.
        package let user: String
        /// Nil if it runs in messages to devices.
        package let roomId: String?
        /// The transaction's id; in a room the event id of the request.
        package let transaction: String

        package init(user: String, roomId: String? = nil, transaction: String) {
            (self.user, self.roomId, self.transaction) = (user, roomId, transaction)
        }

        package static func == (lhs: ID, rhs: ID) -> Bool {
            lhs.user.isExactly(rhs.user) && lhs.transaction.isExactly(rhs.transaction)
                && (lhs.roomId == nil) == (rhs.roomId == nil) && (lhs.roomId ?? "").isExactly(rhs.roomId ?? "")
        }
    }

    package enum Direction: Sendable {
        /// The other side has asked for it.
        case incoming
        case outgoing
    }

    /// What the application shows.
    package enum State: Sendable, Equatable {
        /// Of an incoming one our user is asked; an outgoing one waits for the other's answer.
        case requested
        /// Both sides agree to it. One of them starts.
        ///
        /// - Parameter code: To be shown; nil if there is none that the other side could scan.
        case ready(canCompare: Bool, canScan: Bool, code: VerificationQRCode?)
        /// Waits for the other side's keys.
        case exchanging
        /// Both users compare. Each list is empty if the two sides have not agreed on it.
        ///
        /// - Parameter isConfirmed: Our user has said that they are the same; the other has not yet.
        case comparing(emoji: [SASEmoji], decimals: [Int], isConfirmed: Bool)
        /// The other side's code was scanned here. Its user is asked.
        case scanned
        /// The other side has scanned our code. Our user is asked whether it says so.
        case reciprocated
        /// Our side is done: the keys are trusted. The other side has not said so yet, and need not.
        case verified
        case done
        /// - Parameter code: Nil for one that we don't know.
        case cancelled(code: VerificationCancelCode?, byPeer: Bool)
    }
}

extension Verification.ID {
    /// Says in an event which verification it belongs to.
    func refer(in content: inout JSONWriter) {
        guard roomId != nil else { return content.add("transaction_id", transaction) }
        var relation = JSONWriter()
        relation.add("rel_type", "m.reference")
        relation.add("event_id", transaction)
        content.add("m.relates_to", relation)
    }

    /// The content of a cancel.
    func cancel(_ code: VerificationCancelCode) -> JSONView {
        var content = JSONWriter()
        content.add("code", code.rawValue)
        content.add("reason", code.reason)
        refer(in: &content)
        return content.view
    }
}
