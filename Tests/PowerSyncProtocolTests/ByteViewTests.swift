import NIOCore
import Testing

@testable import PowerSyncProtocol

/// Bytes that are never read outside of what is there.
@Suite struct ByteViewTests {
    @Test func decimalsConsistOfDigits() {
        for byte in UInt8.min...UInt8.max {
            let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            for bytes in [[byte], [UInt8(ascii: "1"), byte], [byte, UInt8(ascii: "1")]] {
                let decimal = ByteBuffer(bytes: bytes).withByteView { $0.decimal }
                #expect(decimal == (isDigit ? Int64(String(decoding: bytes, as: UTF8.self)) : nil))
            }
        }
    }

    /// What Swift reads without a repair is valid.
    @Test func onlyTextIsValidUTF8() {
        let followers: [UInt8] = [0x7f, 0x80, 0xbf, 0xc0]
        for first in UInt8(0x80)...UInt8.max {
            for second in [0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0] as [UInt8] {
                for third in followers {
                    for fourth in followers {
                        let bytes = [first, second, third, fourth]
                        let isText = String(decoding: bytes, as: UTF8.self).utf8.elementsEqual(bytes)
                        let invalid = ByteBuffer(bytes: bytes).withByteView { $0.firstInvalidUTF8(in: 0..<4) }
                        #expect((invalid == nil) == isText, "\(bytes)")
                    }
                }
            }
        }
    }

    @Test func theLastByteCanBeRead() {
        ByteBuffer(bytes: [1, 2, 3]).withByteView { view in
            #expect(view[2] == 3)
            #expect(view.littleEndian(at: 1, as: UInt16.self) == 0x0302)
            #expect(view[3..<3].count == 0)
        }
    }

    @Test func aByteBehindTheLastOneStopsTheProgram() async {
        await #expect(processExitsWith: .failure) {
            ByteBuffer(bytes: [1, 2, 3]).withByteView { view in _ = view[3] }
        }
        await #expect(processExitsWith: .failure) {
            ByteBuffer(bytes: [1, 2, 3]).withByteView { view in _ = view.littleEndian(at: 2, as: UInt16.self) }
        }
        await #expect(processExitsWith: .failure) {
            ByteBuffer(bytes: [1, 2, 3]).withByteView { view in _ = view[1..<4] }
        }
    }
}
