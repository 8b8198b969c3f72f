/// Failed logins by address.
struct LoginFailures: Sendable {
    private var failures: [String: (count: Int, since: Int)] = [:]
    /// Requires a captcha regardless of the count.
    var isCaptchaForced = false

    static let memory = 86_400

    func count(_ address: String, now: Int) -> Int {
        guard let failure = failures[address], now - failure.since < Self.memory else { return 0 }
        return failure.count
    }

    mutating func failed(_ address: String, now: Int) {
        let count = count(address, now: now)
        failures[address] = (count + 1, count == 0 ? now : failures[address]?.since ?? now)
    }

    mutating func succeeded(_ address: String) {
        failures[address] = nil
        isCaptchaForced = false
    }
}
