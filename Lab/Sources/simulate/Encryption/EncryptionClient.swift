import Basics
import CurlTransport
import JSONBytes
import MatrixEncryption

/// A device: its machine, and what its process and its store hold.
@NetworkActor
final class EncryptionClient {
    /// What is stored beside the records, always with them.
    struct Stored {
        var token: EncryptionServer.Token?
        /// Rooms that the user is in.
        var rooms: [Int: EncryptionServer.RoomState] = [:]
        var outgoing: [Outgoing] = []
        /// Events that were told, and those that were read.
        var (told, read): (Set<String>, Set<String>) = ([], [])
    }

    struct Outgoing {
        let room: Int
        let transactionId: String
        /// As it is sent; nil before it is encrypted.
        var content: JSONView?
    }

    let address: DeviceAddress
    let records = MemoryRecords()
    var machine: CryptoMachine
    var stored = Stored()
    var isLoggedOut = false

    // MARK: Of the process

    /// Counts the processes: what an earlier one has asked for counts no more.
    var life = 0
    var isSyncing = true
    /// A sync is under way.
    var isAsking = false
    var fates: [EncryptionSchedule.Fate] = []
    /// When the first message of a room began to wait for keys.
    var waits: [Int: MonotonicInstant] = [:]
    /// Rooms with a message on its way.
    var sending: Set<Int> = []
    var end: EncryptionSchedule.End?

    init(_ address: DeviceAddress, now: UInt64, random: RandomSource) throws {
        self.address = address
        var turn = CryptoTurn(Records(records), now: now, random: random)
        machine = try CryptoMachine(me: address, &turn)
        records.commit(turn.records.changes)
    }

    /// The next process begins with what is stored.
    func restart(now: UInt64, random: RandomSource) throws {
        life += 1
        (isAsking, end, waits, sending) = (false, nil, [:], [])
        var turn = CryptoTurn(Records(records), now: now, random: random)
        machine = try CryptoMachine(me: address, &turn)
        records.commit(turn.records.changes)
    }
}
