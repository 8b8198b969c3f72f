import Basics
import CurlTransport
import PusherProtocol
import Realtime
import Transport

/// One client with its network, its auth endpoint, its server and its application.
@NetworkActor
final class PusherSimulation: Simulation, Shell {
    typealias Kind = PusherKind

    let schedule: PusherSchedule
    let stage: Stage
    var statistics = Statistics<PusherKind>()

    // The client in its shell.
    nonisolated let driver: Driver<ClientMachine>
    var router = EventRouter()
    var links: [Link] = []
    var transport: (id: ConnectionMachine.TransportID, link: Link)?
    var authorizations: Set<AuthRequestID> = []
    var callbacks = Callbacks()
    /// Notices of a turn are delivered before its orders run, although they may follow from them, so they are checked
    /// last.
    var told: [ClientMachine.Notice] = []
    /// Whether work was carried out since the last check of its outcome.
    var isInspectionDue = false

    // The client's environment.
    var server = PusherServer()
    var serverIsDownUntil: MonotonicInstant
    var connecting = PusherSchedule.Connecting.normal
    var latency = Duration.zero
    var authBehaviour = PusherSchedule.AuthBehaviour.normal

    // The application and its guarantees.
    var application = Application()
    var ledger = Ledger()

    init(_ schedule: PusherSchedule, isRecording: Bool = false) {
        self.schedule = schedule
        stage = Stage(seed: schedule.seed, isRecording: isRecording)
        serverIsDownUntil = stage.loop.now
        let endpoint = Endpoint(host: "h", key: "key", usesTLS: schedule.options.usesTLS, clientVersion: "1")
        driver = Driver(
            ClientMachine(
                endpoint: endpoint, configuration: schedule.options.configuration, seed: stage.random.next()),
            on: stage.loop)
        watchNetwork()
    }

    var machine: ClientMachine { peek { $0 } }

    var nextDeadline: MonotonicInstant? { peek { $0.nextDeadline } }
}
