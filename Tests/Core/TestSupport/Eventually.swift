/// Waits until `condition` holds, and says whether it did.
///
/// Only the pauses between two looks count, each with the time that it was meant to take: a test that gets no processor
/// does not run out of patience. Ten minutes of wall-clock time end what hangs.
///
/// - Parameter bound: The sum of the pauses.
package func eventually(
    within bound: Duration = .seconds(60), _ condition: @Sendable () async -> Bool
) async -> Bool {
    let end = ContinuousClock.now + .seconds(600)
    var (waited, pause) = (Duration.zero, Duration.milliseconds(1))
    while waited < bound, ContinuousClock.now < end {
        if await condition() { return true }
        try? await Task.sleep(for: pause)
        waited += pause
        pause = min(pause * 1.5, .milliseconds(16))
    }
    return await condition()
}
