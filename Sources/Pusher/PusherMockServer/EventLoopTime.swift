import Basics
import NIOCore

extension MonotonicInstant {
    static var now: Self { Self(nanoseconds: Int64(clamping: NIODeadline.now().uptimeNanoseconds)) }
}

extension TimeAmount {
    /// Limits the duration to a year: a longer timer would overflow NIO's deadline.
    init(bounded duration: Duration) {
        self = .nanoseconds(min(max(duration, .zero), .seconds(365 * 86_400)).wholeNanoseconds)
    }
}
