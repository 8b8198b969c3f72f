/// Waits until `condition` holds, looking every few milliseconds, for at most `bound`. Says whether it held.
package func eventually(
    within bound: Duration = .seconds(60), _ condition: @Sendable () async -> Bool
) async -> Bool {
    let deadline = ContinuousClock.now + bound
    while ContinuousClock.now < deadline {
        if await condition() { return true }
        try? await Task.sleep(for: .milliseconds(2))
    }
    return await condition()
}
