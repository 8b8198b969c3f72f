/// Armed faults, taken in the order in which they were armed.
struct FaultQueue<Fault> {
    private struct Armed {
        let fault: Fault
        /// The key of the application to affect; `nil` means any.
        let app: String?
        /// The number of times it still strikes; `nil` means forever.
        var remaining: Int?

        var isSpent: Bool { remaining.map { $0 <= 0 } ?? false }

        func isMeant(for key: String?) -> Bool { app == nil || app == key }

        mutating func strike() {
            remaining = remaining.map { $0 - 1 }
        }
    }

    private var armed: [Armed] = []

    mutating func arm(_ fault: Fault, next count: Int?, app: String?) {
        guard count != 0 else { return }
        armed.append(Armed(fault: fault, app: app, remaining: count))
    }

    mutating func clear() {
        armed.removeAll()
    }

    /// Takes the next fault for `app` if it satisfies `isWanted`, and counts it as having struck once.
    mutating func take(app: String?, where isWanted: (Fault) -> Bool = { _ in true }) -> Fault? {
        guard let index = armed.firstIndex(where: { $0.isMeant(for: app) }), isWanted(armed[index].fault)
        else { return nil }
        defer {
            armed[index].strike()
            if armed[index].isSpent { armed.remove(at: index) }
        }
        return armed[index].fault
    }

    /// Takes all faults for `app`, and counts each as having struck once.
    mutating func takeAll(app: String) -> [Fault] {
        var taken: [Fault] = []
        for index in armed.indices where armed[index].isMeant(for: app) {
            taken.append(armed[index].fault)
            armed[index].strike()
        }
        armed.removeAll(where: \.isSpent)
        return taken
    }
}
