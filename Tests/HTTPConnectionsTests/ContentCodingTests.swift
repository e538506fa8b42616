import Testing

@testable import HTTPConnections

/// Which coding an `Accept-Encoding` header gets.
@Suite struct ContentCodingTests {
    @Test(
        arguments: [
            (nil, .identity), ("", .identity), ("identity", .identity), ("br", .identity), ("gzip", .gzip),
            ("gzip, deflate, br", .gzip), ("gzip, deflate, br, zstd", .gzip), ("*", .gzip), ("GZIP", .gzip),
            ("x-gzip", .gzip), ("X-GZip;q=0.5", .gzip), ("x-gzip;q=0, gzip;q=0", .identity),
            ("zstd;q=0.5, gzip", .gzip), ("zstd, gzip;q=0.5", .gzip), ("br, gzip ; q=0.1", .gzip),
            ("gzip;q=0", .identity), ("*, gzip;q=0", .identity), ("gzip, *;q=0", .gzip), ("*;q=0", .identity),
            ("identity, gzip", .identity), ("identity;q=0.5, gzip", .gzip), ("identity, gzip;q=0.5", .identity),
            ("gzip;q=0, identity;q=0", .identity), ("gzip;q=x", .identity), (";;,,", .identity),
        ] as [(String?, ContentCoding)]
    )
    func acceptEncodingSelectsTheCoding(_ header: String?, _ coding: ContentCoding) {
        #expect(ContentCoding.negotiated(acceptEncoding: header) == coding)
    }
}
