/// Waits until `condition` holds, and returns whether it did.
///
/// Only the pauses between two checks count, each with its intended duration, so a test that gets no CPU time does not
/// run out of patience. Ten minutes of wall-clock time end a hang.
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
