import Basics
import CurlTransport
import MatrixProtocol

/// A process with one session: the loop in its driver, and the model, which starts from the disk's contents.
@NetworkActor
final class MatrixClient: Shell {
    nonisolated let driver: Driver<SyncLoop>
    var model: SessionModel
    private weak var simulation: MatrixSimulation?

    init(
        _ configuration: SyncLoop.Configuration, disk: MatrixDisk, seed: UInt64, simulation: MatrixSimulation,
        on loop: SimulatedLoop
    ) {
        model = SessionModel(userId: "@me:s", stored: disk.open(userId: "@me:s", deviceId: nil), now: .now)
        driver = Driver(
            SyncLoop(
                configuration: configuration, state: .storeDataReady, hasSynced: model.syncToken != nil, seed: seed),
            on: loop)
        self.simulation = simulation
        watchNetwork()
    }

    func carryOut(_ action: SyncLoop.Action) {
        // A process that has ended does nothing.
        if simulation?.client === self { simulation?.carryOut(action) }
    }
}

/// One request for `/sync`, from its creation until its answer is applied.
@NetworkActor
final class MatrixRequest {
    enum Phase {
        case sent, waiting, answered, applying
    }

    /// `nil` for a request outside the loop.
    let poll: SyncLoop.Poll?
    let since: String?
    var phase = Phase.sent
    var isCancelled = false

    init(_ poll: SyncLoop.Poll?, since: String?) {
        self.poll = poll
        self.since = since
    }
}
