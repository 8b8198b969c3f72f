package import Foundation
package import MatrixKit
import TerminalUI

/// The pictures of attachments at the size of the chat: a blurred preview, then the thumbnail.
///
/// Pictures are loaded and decoded one at a time, the latest request first, off the main actor.
@MainActor
package final class ThumbnailStore {
    /// The maximum size of a picture, in cells.
    nonisolated static let maximumSize = TerminalSize(columns: 40, rows: 12)
    /// The maximum number of requested pictures.
    private static let capacity = 500
    /// The maximum size of the cached pixels. The newest picture is always kept.
    private static let maximumBytes = 16 << 20
    /// The maximum number of pixels for a cell that a picture covers.
    private nonisolated static let cell = PixelSize(width: 10, height: 20)
    /// The maximum size of a file to decode, in bytes.
    private nonisolated static let maximumFile = 5 << 20

    /// Pixels with a unique id.
    struct Picture {
        let id: UInt32
        let image: TerminalImage
    }

    private var pictures: [String: Picture] = [:]
    private var bytes = 0
    /// Other programs that showed images in the same window counted from 1.
    private var lastId = UInt32.random(in: 1 << 20...1 << 30)
    /// The requests, oldest first.
    private var order: [String] = []
    private var waiting: [MXKAttachment] = []
    private var isFetching = false
    private let fetch: (MXKAttachment) async throws -> Data
    /// Called when a new picture is available.
    var onChange: (() -> Void)?

    /// - Parameter fetch: Loads the data of a thumbnail.
    package init(fetch: @escaping (MXKAttachment) async throws -> Data = { try await $0.thumbnail() }) {
        self.fetch = fetch
    }

    /// Returns `nil` if there is nothing to show, or nothing yet.
    func picture(of attachment: MXKAttachment) -> Picture? {
        guard let key = attachment.contentURL else { return nil }
        if order.contains(key) { return pictures[key] }
        order.append(key)
        if order.count > Self.capacity { forgetOldest() }
        let info = attachment.contentInfo ?? [:]
        let shape = Self.shape(width: info["w"] as? Int ?? 1, height: info["h"] as? Int ?? 1)
        let blurred = attachment.blurhash.flatMap {
            BlurHash.image($0, width: shape.columns, height: 2 * shape.rows)
        }
        if let blurred { keep(blurred, key) }
        waiting.append(attachment)
        fetchNext()
        return pictures[key]
    }

    private func keep(_ image: TerminalImage, _ key: String) {
        bytes += image.pixels.count - (pictures[key]?.image.pixels.count ?? 0)
        lastId &+= 1
        pictures[key] = Picture(id: lastId, image: image)
        while bytes > Self.maximumBytes, order.count > 1, order.first != key { forgetOldest() }
    }

    private func forgetOldest() {
        guard let forgotten = pictures.removeValue(forKey: order.removeFirst()) else { return }
        bytes -= forgotten.image.pixels.count
    }

    /// Returns the cells for a picture of this size, whatever the claimed size.
    private static func shape(width: Int, height: Int) -> TerminalSize {
        guard (1...100_000).contains(width), (1...100_000).contains(height) else {
            return TerminalSize(columns: 16, rows: 8)
        }
        let scale = min(
            Double(maximumSize.columns) / Double(width), Double(2 * maximumSize.rows) / Double(height), 1)
        return TerminalSize(
            columns: max(Int(Double(width) * scale), 1), rows: max(Int((Double(height) * scale / 2).rounded(.up)), 1))
    }

    private func fetchNext() {
        guard !isFetching, let attachment = waiting.popLast(), let key = attachment.contentURL else { return }
        isFetching = true
        Task { [weak self, fetch] in
            // If loading or decoding fails, the line with the name stays.
            let data = try? await fetch(attachment)
            let picture = await Self.decoded(data ?? Data())
            guard let self else { return }
            isFetching = false
            if let picture, order.contains(key) {
                keep(picture, key)
                onChange?()
            }
            fetchNext()
        }
    }

    /// Scales the image down to its displayed size to limit memory use.
    @concurrent private static func decoded(_ data: Data) async -> TerminalImage? {
        guard !data.isEmpty, data.count <= maximumFile, let image = TerminalImage(file: data) else { return nil }
        let size = image.cells(within: maximumSize)
        return image.scaled(
            width: min(image.width, size.columns * cell.width), height: min(image.height, size.rows * cell.height))
    }
}
