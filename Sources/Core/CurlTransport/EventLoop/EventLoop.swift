package import Basics
import CLinux
import Glibc

/// The single thread that does network I/O: an epoll loop. It sleeps unless a descriptor is ready, a timer is due or a
/// job was submitted, so its cost depends on activity, not on the number of open connections.
///
/// It is the executor of ``NetworkActor``, so the compiler checks what is confined to this thread.
final class EventLoop: SerialExecutor {
    static let shared = EventLoop()

    private enum Job {
        case closure(@Sendable @NetworkActor () -> Void)
        case task(UnownedJob)
    }

    private struct Inbox {
        var jobs: [Job] = []
        /// Whether the loop will check the jobs before it waits.
        var isAwake = false
    }

    private let epoll: Int32
    private let wakeUp: Int32
    private let timer: Int32
    private let inbox = Lock(Inbox())
    private let thread = Lock<pthread_t?>(nil)

    @NetworkActor private var watches: [UInt64: DescriptorWatch] = [:]
    @NetworkActor private var lastWatch: UInt64 = 0
    @NetworkActor private var timers = Deadlines<NetworkTimer.Entry>()
    @NetworkActor private var armed: MonotonicInstant?

    private init() {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        wakeUp = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        timer = timerfd_create(CLOCK_BOOTTIME, Int32(TFD_CLOEXEC | TFD_NONBLOCK))
        precondition(epoll >= 0 && wakeUp >= 0 && timer >= 0, "no descriptors left for the I/O thread")
        control(EPOLL_CTL_ADD, wakeUp, events: EPOLLIN.rawValue, token: Token.wakeUp)
        control(EPOLL_CTL_ADD, timer, events: EPOLLIN.rawValue, token: Token.timer)
        let isStarted = NamedThread.start("pusher-io") { self.run() }
        precondition(isStarted, "the I/O thread cannot be started")
    }

    /// The epoll tokens of the loop's own descriptors. Watches use the numbers above.
    private enum Token {
        static let wakeUp: UInt64 = 0
        static let timer: UInt64 = 1
        static let firstWatch: UInt64 = 2
    }

    // MARK: Jobs from any thread

    /// Runs `job` on the loop, after previously submitted jobs.
    func submit(_ job: @escaping @Sendable @NetworkActor () -> Void) {
        add(.closure(job))
    }

    func enqueue(_ job: UnownedJob) {
        add(.task(job))
    }

    private func add(_ job: Job) {
        let mustWake = inbox.withLock { inbox in
            inbox.jobs.append(job)
            defer { inbox.isAwake = true }
            return !inbox.isAwake
        }
        guard mustWake else { return }
        var one: UInt64 = 1
        _ = write(wakeUp, &one, 8)
    }

    /// Runs the current jobs. Jobs that they submit wait until the descriptors have been checked.
    @NetworkActor
    private func runJobs() {
        let jobs = inbox.withLock { inbox in
            defer { inbox.jobs = [] }
            return inbox.jobs
        }
        for job in jobs {
            switch job {
            case .closure(let closure): closure()
            case .task(let task): task.runSynchronously(on: asUnownedSerialExecutor())
            }
        }
    }

    // MARK: The thread

    private func run() -> Never {
        thread.withLock { $0 = pthread_self() }
        NetworkActor.assumeIsolated { self.loop() }
    }

    @NetworkActor
    private func loop() -> Never {
        let capacity = 256
        let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: capacity)
        while true {
            let hasJobs = inbox.withLock { inbox in
                inbox.isAwake = !inbox.jobs.isEmpty
                return inbox.isAwake
            }
            let count = epoll_wait(epoll, events, Int32(capacity), hasJobs ? 0 : -1)
            inbox.withLock { $0.isAwake = true }
            for index in 0..<max(Int(count), 0) {
                let event = events[index]
                switch event.data.u64 {
                case Token.wakeUp:
                    var value: UInt64 = 0
                    _ = read(wakeUp, &value, 8)
                case Token.timer:
                    var value: UInt64 = 0
                    _ = read(timer, &value, 8)
                    armed = nil
                    fireTimers()
                case let token: watches[token]?.onReady(event.events)  // nil: cancelled by an earlier event
                }
            }
            runJobs()
        }
    }

    func checkIsolated() {
        precondition(isCurrentThread, "not on the I/O thread")
    }

    func isIsolatingCurrentContext() -> Bool? { isCurrentThread }

    var isCurrentThread: Bool {
        thread.withLock { $0.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    // MARK: Descriptors

    @NetworkActor
    func add(_ watch: DescriptorWatch) -> UInt64 {
        lastWatch += 1
        let token = Token.firstWatch + lastWatch
        watches[token] = watch
        change(watch, token: token, from: 0)
        return token
    }

    /// Watches for other events than `old`. A descriptor without events is removed, because epoll would report a
    /// hang-up forever.
    @NetworkActor
    func change(_ watch: DescriptorWatch, token: UInt64, from old: UInt32) {
        guard watch.events != old else { return }
        let operation = old == 0 ? EPOLL_CTL_ADD : watch.events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD
        control(operation, watch.descriptor, events: watch.events, token: token)
    }

    @NetworkActor
    func remove(_ watch: DescriptorWatch, token: UInt64) {
        watches[token] = nil
        guard watch.events != 0 else { return }
        control(EPOLL_CTL_DEL, watch.descriptor, events: 0, token: token)
    }

    private func control(_ operation: Int32, _ descriptor: Int32, events: UInt32, token: UInt64) {
        var event = epoll_event(events: events, data: epoll_data_t(u64: token))
        _ = epoll_ctl(epoll, operation, descriptor, &event)
    }

    // MARK: Timers

    @NetworkActor
    var timerCount: Int { timers.count }

    @NetworkActor
    func schedule(_ entry: NetworkTimer.Entry, at deadline: MonotonicInstant) {
        timers.set(deadline, for: entry)
        armTimer()
    }

    @NetworkActor
    func cancel(_ entry: NetworkTimer.Entry) { timers.remove(entry) }

    @NetworkActor
    private func fireTimers() {
        let now = MonotonicInstant.now
        while let due = timers.popDue(now: now) { due.id.timer?.fired() }
        armTimer()
    }

    @NetworkActor
    private func armTimer() {
        guard let next = timers.first, armed.map({ next < $0 }) ?? true else { return }
        armed = next
        let nanoseconds = max(next.nanoseconds, 1)  // 0 would disarm
        var setting = itimerspec(
            it_interval: timespec(),
            it_value: timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000)))
        timerfd_settime(timer, Int32(1), &setting, nil)  // 1: TFD_TIMER_ABSTIME
    }
}

extension MonotonicInstant {
    /// The current time. The clock includes the time that the system sleeps, so that deadlines are due when it wakes.
    package static var now: MonotonicInstant {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return MonotonicInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
