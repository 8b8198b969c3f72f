import MatrixEncryption

/// What is true, whatever the machines think.
struct EncryptionLedger {
    /// A message as it was encrypted.
    struct Message: Sendable {
        let text: String
        let sender: DeviceAddress
        let room: Int
        /// Devices that were to read it, as far as its sender knew.
        let audience: Set<DeviceAddress>
        /// Somebody could not be reached in time, and may lack the key.
        let isIncomplete: Bool

        func mayBeRead(by device: DeviceAddress) -> Bool { device == sender || audience.contains(device) }
    }

    /// By event ids.
    var messages: [String: Message] = [:]
    /// What was sent with each index of a session, and of a channel.
    var ratchets: [String: String] = [:]
    /// Of what was said when all was well: all other devices of its readers.
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
    case restarts = "processes restarted"
    case undone = "… before a commit"
    case unsent = "… before sending"
    case comparisons = "readings compared at the end"
    case refusals = "… that had to fail"
}
