import CLinux
import Glibc
import Transport

/// A part of a file as a request's body. Reading blocks the I/O thread for as long as the file system takes.
@NetworkActor
final class BodySource {
    private let descriptor: Int32
    private let file: HTTPBodyFile
    /// The number of bytes delivered.
    private(set) var position: Int64 = 0

    init(_ file: HTTPBodyFile) throws(TransportError) {
        self.file = file
        descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw TransportError(.file, "the file to be sent cannot be opened: \(String(cString: strerror(errno)))")
        }
    }

    isolated deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TransportError) -> Int {
        let start = Int64(file.before.count)
        let count: Int
        if position < start {
            count = copy(file.before[Int(position)...], into: buffer)
        } else if position < start + file.count {
            count = try readFile(at: position - start, into: buffer)
        } else {
            count = copy(file.after[Int(min(position - start - file.count, Int64(file.after.count)))...], into: buffer)
        }
        position += Int64(count)
        return count
    }

    private func copy(_ bytes: ArraySlice<UInt8>, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let part = bytes.prefix(buffer.count)
        buffer.copyBytes(from: part)
        return part.count
    }

    private func readFile(
        at place: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(TransportError) -> Int {
        let wanted = min(Int64(buffer.count), file.count - place)
        let count = pread(descriptor, buffer.baseAddress, Int(wanted), off_t(file.offset + place))
        guard count > 0 else {
            let reason = count == 0 ? "it has become shorter" : String(cString: strerror(errno))
            throw TransportError(.file, "the file to be sent cannot be read: \(reason)")
        }
        return count
    }

    func seek(to offset: Int64) {
        position = min(max(offset, 0), file.bodySize)
    }
}
