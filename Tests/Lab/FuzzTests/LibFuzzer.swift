import Glibc

/// The target named by the environment variable `FUZZ`.
private let target: FuzzTarget = {
    guard let name = getenv("FUZZ").map({ String(cString: $0) }), let target = FuzzTarget(rawValue: name) else {
        fatalError("FUZZ is none of \(FuzzTarget.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return target
}()

/// The function that libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    do throws(BrokenClaim) {
        try target.run(Array(UnsafeBufferPointer(start: start, count: count)))
    } catch {
        fatalError("not true of this input: \(error)")
    }
    return 0
}
