import MatrixEncryption

/// The truth, whatever the machines believe.
struct EncryptionLedger {
    /// A message when it was encrypted.
    struct Message: Sendable {
        let text: String
        let sender: DeviceAddress
        let room: Int
        /// The intended devices, as far as the sender knew.
        let audience: Set<DeviceAddress>
        /// Whether a device could not be reached in time, and may lack the key.
        let isIncomplete: Bool

        func mayBeRead(by device: DeviceAddress) -> Bool { device == sender || audience.contains(device) }
    }

    /// Devices of the same user that each device trusts, or has trusted: they may get everything that it can read.
    var verified: [DeviceAddress: Set<DeviceAddress>] = [:]

    /// Whether a device may have the key of a message, from its sender or from another device of its user.
    func mayRead(_ message: Message, _ device: DeviceAddress) -> Bool {
        if message.mayBeRead(by: device) { return true }
        // Devices that have the key may pass it on.
        var (givers, seen) = (
            message.audience.union([message.sender]).filter { $0.user == device.user }, Set<DeviceAddress>()
        )
        while let giver = givers.popFirst() {
            if giver == device { return true }
            guard seen.insert(giver).inserted else { continue }
            givers.formUnion(verified[giver] ?? [])
        }
        return false
    }

    /// By event ID.
    var messages: [String: Message] = [:]
    /// The text sent with each index of a session or channel.
    var ratchets: [String: String] = [:]
    /// By message sent during the calm: all other devices of its readers.
    var calm: [String: Set<DeviceAddress>] = [:]
    var lastTransaction = 0
}

enum EncryptionKind: String, CaseIterable {
    case syncs = "answers applied"
    case limited = "… limited"
    case lost = "requests or answers lost"
    case messages = "messages sent"
    case incomplete = "… without waiting for all"
    case reads = "messages read at once"
    case lateReads = "messages read when the key came"
    case sharings = "messages to devices"
    case joins = "users joined"
    case leaves = "users left"
    case invitations = "users invited"
    case logins = "devices logged in"
    case logouts = "devices logged out"
    case blocks = "devices blocked"
    case verifications = "devices verified"
    case askedReads = "messages read on request"
    case restarts = "processes restarted"
    case undone = "… before a commit"
    case unsent = "… before sending"
    case comparisons = "readings compared at the end"
    case refusals = "… that had to fail"
}
