import NIOCore

extension ServerCore {
    /// Starts the script. Steps at the start without delay have run when this returns.
    func startScript() {
        for due in script.started() {
            if due.step.delay == .zero { perform(due) } else { schedule(due) }
        }
    }

    /// Schedules a step, to run later even without delay: the current event must be finished first.
    func schedule(_ due: ScriptPlayer.Due) {
        eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(bounded: due.step.delay)) {
            if !self.isStopped { self.perform(due) }
        }
    }

    private func perform(_ due: ScriptPlayer.Due) {
        switch due.step.action {
        case .strike(let fault):
            let connections = due.socketID.map { [connection($0)].compactMap { $0 } } ?? openConnections
            for connection in connections { connection.inject(fault, afterFrames: 0) }
        case .publish(let event, let data, let channel):
            guard let channel = channel ?? due.channel, let index = applicationIndex(of: due.socketID) else { return }
            publish(event: event, channel: channel, data: data, on: index)
        case .refuse(let fault): handshakeFaults.arm(fault, next: due.step.times, app: nil)
        case .failAuth(let fault): authFaults.arm(fault, next: due.step.times, app: nil)
        case .clearFaults: clearFaults()
        }
    }
}
