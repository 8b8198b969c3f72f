import Basics
import JSONBytes

extension Verification {
    /// A verification's id. It is chosen by the side that begins, so two users may use the same one.
    package struct ID: Hashable, Sendable {
        /// The other user, or our own for another device of ours.
        package let user: String
        /// The room; `nil` if the verification uses messages to devices.
        package let roomId: String?
        /// The transaction id; in a room, the event id of the request.
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
        /// The other side has requested it.
        case incoming
        case outgoing
    }

    /// The state to show in the application.
    package enum State: Sendable, Equatable {
        /// If incoming, our user is asked; if outgoing, it waits for the other side's answer.
        case requested
        /// Both sides have agreed. One of them starts.
        ///
        /// - Parameter code: The code to show; `nil` if there is none that the other side could scan.
        case ready(canCompare: Bool, canScan: Bool, code: VerificationQRCode?)
        /// It waits for the other side's keys.
        case exchanging
        /// Both users compare. A list is empty if the two sides have not agreed on it.
        ///
        /// - Parameter isConfirmed: Whether our user has confirmed that they are the same. The other user has not yet.
        case comparing(emoji: [SASEmoji], decimals: [Int], isConfirmed: Bool)
        /// The other side's code was scanned here. The other user is asked.
        case scanned
        /// The other side has scanned our code. Our user is asked whether it shows this.
        case reciprocated
        /// Our side is done and the keys are trusted. The other side has not confirmed this, and need not.
        case verified
        case done
        /// - Parameter code: The code; `nil` if it is unknown.
        case cancelled(code: VerificationCancelCode?, byPeer: Bool)
    }
}

extension Verification.ID {
    /// Adds a reference to the verification to an event's content.
    func refer(in content: inout JSONWriter) {
        guard roomId != nil else { return content.add("transaction_id", transaction) }
        var relation = JSONWriter()
        relation.add("rel_type", "m.reference")
        relation.add("event_id", transaction)
        content.add("m.relates_to", relation)
    }

    /// Returns the content of a cancel.
    func cancel(_ code: VerificationCancelCode) -> JSONView {
        var content = JSONWriter()
        content.add("code", code.rawValue)
        content.add("reason", code.reason)
        refer(in: &content)
        return content.view
    }
}
