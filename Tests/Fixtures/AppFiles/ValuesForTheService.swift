// Types that PowerSync has from a module that it shares with backends.
import Foundation
import PowerSync

func values(_ entry: CrudEntry) -> JsonParam {
    let isPut = entry.op == UpdateType.put
    var values: JsonParam = ["a": .string("b"), "c": .array([.int(1), .double(0.5), .bool(isPut), .null])]
    values["d"] = JsonValue.object(["e": .null])
    return values
}

func options(_ values: JsonParam) throws -> (ConnectOptions, Data) {
    (ConnectOptions(params: values), try JSONEncoder().encode(values["a"]))
}
