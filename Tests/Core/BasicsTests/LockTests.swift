import Basics
import Testing

struct LockTests {
    #if DEBUG
        /// In release builds the thread would wait forever.
        @Test func takingALockTwiceStopsTheProgramAndNamesBothPlaces() async throws {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let lock = Lock(0)
                lock.withLock { _ in
                    lock.withLock { $0 += 1 }
                }
            }
            let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            // In an exit test, every line number is that of its macro.
            let place = #/BasicsTests/LockTests.swift:\d+/#
            #expect(text.contains(/this thread took the lock at BasicsTests\/LockTests.swift:\d+ and still holds it/))
            #expect(text.ranges(of: place).count >= 2, "\(text)")
        }
    #endif

    @Test func anExchangedStateIsReleasedAfterTheLock() {
        final class Owner: Sendable {
            let lock: Lock<Owner?>

            init(_ lock: Lock<Owner?>) { self.lock = lock }

            deinit { lock.withLock { _ in } }
        }
        let lock = Lock<Owner?>(nil)
        lock.exchange(Owner(lock))
        lock.exchange(nil)
    }

    @Test func otherThreadsAndOtherLocksMayBeTakenMeanwhile() async {
        let (outer, inner) = (Lock(0), Lock(0))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<1000 {
                        outer.withLock { number in
                            inner.withLock {
                                number += 1; $0 += 1
                            }
                        }
                    }
                }
            }
        }
        #expect(outer.withLock { $0 } == 4000 && inner.withLock { $0 } == 4000)
    }
}
