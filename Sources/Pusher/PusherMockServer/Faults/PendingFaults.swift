/// The pending faults of one connection, each due after a number of frames has been sent to it.
struct PendingFaults {
    private var pending: [(fault: PusherMockServer.ConnectionFault, framesLeft: Int)] = []

    mutating func add(_ fault: PusherMockServer.ConnectionFault, afterFrames count: Int) {
        pending.append((fault, count))
    }

    /// Takes the faults that are due now, in the order in which they were added.
    mutating func takeDue() -> [PusherMockServer.ConnectionFault] {
        let due = pending.filter { $0.framesLeft <= 0 }.map(\.fault)
        pending.removeAll { $0.framesLeft <= 0 }
        return due
    }

    mutating func frameSent() {
        for index in pending.indices { pending[index].framesLeft -= 1 }
    }
}
