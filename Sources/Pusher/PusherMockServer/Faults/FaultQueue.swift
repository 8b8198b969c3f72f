/// Faults waiting for what they are meant for, taken in the order in which they were armed.
struct FaultQueue<Fault> {
    private struct Armed {
        let fault: Fault
        /// Key of the only application meant; nil is any.
        let app: String?
        /// How often it still strikes; nil is for ever.
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

    /// The next fault that is meant for `app`, if it also is what `isWanted` asks for; it then has struck once.
    mutating func take(app: String?, where isWanted: (Fault) -> Bool = { _ in true }) -> Fault? {
        guard let index = armed.firstIndex(where: { $0.isMeant(for: app) }), isWanted(armed[index].fault)
        else { return nil }
        defer {
            armed[index].strike()
            if armed[index].isSpent { armed.remove(at: index) }
        }
        return armed[index].fault
    }

    /// All that is meant for `app`; each then has struck once.
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
