/// Applies faults to the text frames of one connection before they are written.
struct FrameShaper {
    var omitsData = false
    var duplicates = false
    /// The number of frames that are sent together, the last one first.
    var reversedCount: Int?
    private var held: [EncodedFrame] = []

    init() {}

    func shaped(_ frame: EncodedFrame) -> EncodedFrame {
        omitsData ? EncodedFrame(FrameWriter.withoutData(frame.text)) : frame
    }

    /// Returns the frames to write in place of `frame`.
    mutating func turn(of frame: EncodedFrame) -> [EncodedFrame] {
        guard let reversedCount else { return copies(of: [frame]) }
        held.append(frame)
        guard held.count >= reversedCount else { return [] }
        defer { held.removeAll() }
        return copies(of: held.reversed())
    }

    private func copies(of frames: [EncodedFrame]) -> [EncodedFrame] {
        duplicates ? frames.flatMap { [$0, $0] } : frames
    }
}
