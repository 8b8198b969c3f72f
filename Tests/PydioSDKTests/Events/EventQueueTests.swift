import Glibc
import PydioProtocol
import Realtime
import TestSupport
import Testing
import Transport

@testable import PydioSDK

@Suite struct EventQueueTests {
    /// Global queues know no barriers.
    @Test func eventsComeInOrderOnAConcurrentQueue() async {
        let bindings = PydioEventBindings(on: .global()) { _, _ in }
        let (told, running, overlaps) = (Lock<[String]>([]), Lock(0), Lock(0))
        bindings.add(
            PydioEventBinding(nil) { event in
                let count = running.withLock { running in
                    running += 1
                    return running
                }
                if count > 1 { overlaps.withLock { $0 += 1 } }
                usleep(2000)
                told.withLock { $0.append(event.workspaceId) }
                running.withLock { $0 -= 1 }
            })
        for number in 0..<50 {
            bindings.tell([PydioEvent(state: .connected, in: "\(number)")])
            usleep(1000)
        }
        #expect(await eventually { told.withLock { $0.count } == 50 })
        #expect(told.withLock { $0 } == (0..<50).map(String.init) && overlaps.withLock { $0 } == 0)
    }
}
