#if JPEGImages
    import CTurboJPEG
    import Foundation

    /// Decodes JPEG images with libjpeg-turbo. Requires the trait `JPEGImages`.
    ///
    /// Images are untrusted: an image's size is checked before memory is allocated for it, and the number of its scans
    /// is limited.
    public enum JPEG {
        /// The reason why an image was not decoded.
        public enum Failure: Error, Hashable, Sendable {
            case notJPEG
            /// The image is damaged, or has an unsupported format such as CMYK.
            case damaged
            /// The image exceeds ``PNG/maximumSide`` or ``PNG/maximumBytes``.
            case tooLarge
        }

        /// The maximum longer side in pixels of an image from ``decode(_:)``. Larger images are scaled down while
        /// decoding.
        public static let largestSide = 2_048

        /// Decodes an image and applies its Exif orientation. Missing parts of a damaged image are grey.
        public static func decode(_ data: some Collection<UInt8>) throws(Failure) -> TerminalImage {
            let bytes = Array(data)
            guard bytes.starts(with: [0xFF, 0xD8, 0xFF]) else { throw .notJPEG }
            guard let decompressor = tjInitDecompress() else { throw .damaged }
            defer { tjDestroy(decompressor) }
            var (width, height, subsampling, colors) = (CInt(0), CInt(0), CInt(0), CInt(0))
            guard
                tjDecompressHeader3(
                    decompressor, bytes, UInt(bytes.count), &width, &height, &subsampling, &colors) == 0,
                width > 0, height > 0
            else { throw .damaged }
            guard width <= PNG.maximumSide, height <= PNG.maximumSide,
                4 * Int(width) * Int(height) <= PNG.maximumBytes
            else { throw .tooLarge }
            // The library scales down by eighths, which also saves most of the work.
            let eighths = min(8 * largestSide / Int(max(width, height)), 8)
            let size = PixelSize(width: scaled(width, eighths), height: scaled(height, eighths))
            var pixels = [UInt8](repeating: 0, count: 4 * size.width * size.height)
            let status = tjDecompress2(
                decompressor, bytes, UInt(bytes.count), &pixels, CInt(size.width), 0, CInt(size.height),
                CInt(TJPF_RGBA.rawValue), TJFLAG_LIMITSCANS)
            guard status == 0 || tjGetErrorCode(decompressor) == CInt(TJERR_WARNING.rawValue) else { throw .damaged }
            guard let image = TerminalImage(width: size.width, height: size.height, pixels: pixels) else {
                throw .damaged
            }
            return image.turned(orientation(of: bytes))
        }

        private static func scaled(_ length: CInt, _ eighths: Int) -> Int { (Int(length) * eighths + 7) / 8 }

        // MARK: Exif

        /// Returns the orientation in the segment APP1 (Exif 2.3, section 4.6.4).
        private static func orientation(of bytes: [UInt8]) -> ImageOrientation {
            var offset = 2
            while offset + 4 <= bytes.count, bytes[offset] == 0xFF, bytes[offset + 1] != 0xDA {
                let end = offset + 2 + Int(bytes[offset + 2]) << 8 + Int(bytes[offset + 3])
                guard end >= offset + 4, end <= bytes.count else { break }
                let body = bytes[(offset + 4)..<end]
                if bytes[offset + 1] == 0xE1, body.starts(with: Array("Exif\0\0".utf8)) {
                    return orientation(ofTIFF: Array(body.dropFirst(6))) ?? .upright
                }
                offset = end
            }
            return .upright
        }

        private static func orientation(ofTIFF bytes: [UInt8]) -> ImageOrientation? {
            let isLittle = bytes.starts(with: Array("II".utf8))
            guard isLittle || bytes.starts(with: Array("MM".utf8)) else { return nil }
            func number(_ offset: Int, _ count: Int) -> Int? {
                guard offset >= 0, offset + count <= bytes.count else { return nil }
                let digits = bytes[offset..<offset + count]
                return (isLittle ? Array(digits.reversed()) : Array(digits)).reduce(0) { $0 << 8 | Int($1) }
            }
            guard let directory = number(4, 4), let count = number(directory, 2) else { return nil }
            for entry in 0..<count {
                let offset = directory + 2 + 12 * entry
                guard let tag = number(offset, 2) else { return nil }
                if tag == 0x0112 { return number(offset + 8, 2).flatMap(ImageOrientation.init) }
            }
            return nil
        }
    }
#endif
