import Basics
import CurlTransport
import JSONBytes
import MatrixEncryption

/// A device: its machine, and the state of its process and its store.
@NetworkActor
final class EncryptionClient {
    /// Data stored beside the records, always in the same commit.
    struct Stored {
        var token: EncryptionServer.Token?
        /// Rooms that the user is in.
        var rooms: [Int: EncryptionServer.RoomState] = [:]
        var outgoing: [Outgoing] = []
        /// Delivered events, and the readable ones.
        var (told, read): (Set<String>, Set<String>) = ([], [])
    }

    struct Outgoing {
        let room: Int
        let transactionId: String
        /// The content as sent; `nil` before encryption.
        var content: JSONView?
    }

    let address: DeviceAddress
    let records = MemoryRecords()
    var machine: CryptoMachine
    var stored = Stored()
    var isLoggedOut = false

    // MARK: State of the process

    /// The number of the process: answers to an earlier one are ignored.
    var life = 0
    var isSyncing = true
    /// Whether a sync is pending.
    var isAsking = false
    var fates: [EncryptionSchedule.Fate] = []
    /// The time at which the first message of a room began to wait for keys.
    var waits: [Int: MonotonicInstant] = [:]
    /// Rooms with a message being sent.
    var sending: Set<Int> = []
    var end: EncryptionSchedule.End?

    init(_ address: DeviceAddress, now: UInt64, random: RandomSource) throws {
        self.address = address
        var turn = CryptoTurn(Records(records), now: now, random: random)
        machine = try CryptoMachine(me: address, &turn)
        records.commit(turn.records.changes)
    }

    /// Starts the next process from the stored state.
    func restart(now: UInt64, random: RandomSource) throws {
        life += 1
        (isAsking, end, waits, sending) = (false, nil, [:], [])
        var turn = CryptoTurn(Records(records), now: now, random: random)
        machine = try CryptoMachine(me: address, &turn)
        records.commit(turn.records.changes)
    }
}
