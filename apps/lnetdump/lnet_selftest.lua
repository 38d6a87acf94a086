-- SPDX-License-Identifier: BSD-3-Clause
-- RPCs of LNet selftest for Wireshark, which has no dissector for them: portals 50 to 52.
--   tshark -X lua_script:lnet_selftest.lua -r FILE
-- or copied to a folder of Wireshark's plugins. Layouts: lib/selftest/srpc_wire.hpp.

local MAGIC, MAGIC_SWAPPED = 0xeeb0f00d, 0x0df0b0ee
local MESSAGE_BYTES, BODY = 160, 24

local types = {
  [0] = "MAKE_SESSION_REQ", [1] = "MAKE_SESSION_REPLY", [2] = "REMOVE_SESSION_REQ", [3] = "REMOVE_SESSION_REPLY",
  [4] = "BATCH_REQ", [5] = "BATCH_REPLY", [6] = "STAT_REQ", [7] = "STAT_REPLY", [8] = "TEST_REQ", [9] = "TEST_REPLY",
  [10] = "DEBUG_REQ", [11] = "DEBUG_REPLY", [12] = "BRW_REQ", [13] = "BRW_REPLY", [14] = "PING_REQ", [15] = "PING_REPLY",
  [16] = "JOIN_REQ", [17] = "JOIN_REPLY",
}

local srpc = Proto("lnet_selftest", "LNet Selftest")
local fields = {
  magic = ProtoField.uint32("lnet_selftest.magic", "Magic", base.HEX),
  version = ProtoField.uint32("lnet_selftest.version", "Version"),
  type = ProtoField.uint32("lnet_selftest.type", "Type", base.DEC, types),
  features = ProtoField.uint32("lnet_selftest.features", "Features of the session", base.HEX),
  reply_id = ProtoField.uint64("lnet_selftest.reply_id", "Match bits of the reply", base.HEX),
  bulk_id = ProtoField.uint64("lnet_selftest.bulk_id", "Match bits of the bulk data", base.HEX),
  status = ProtoField.uint32("lnet_selftest.status", "Status"),
  operation = ProtoField.uint32("lnet_selftest.operation", "Operation", base.DEC, { [1] = "READ", [2] = "WRITE" }),
  length = ProtoField.uint32("lnet_selftest.length", "Length"),
  check = ProtoField.uint32("lnet_selftest.check", "Check", base.DEC, { [1] = "none", [2] = "simple", [3] = "full" }),
  ping_magic = ProtoField.uint32("lnet_selftest.ping_magic", "Magic of a ping", base.HEX),
  sequence = ProtoField.uint32("lnet_selftest.sequence", "Sequence number"),
  session_nid = ProtoField.uint64("lnet_selftest.session_nid", "NID of the console", base.HEX),
  session_stamp = ProtoField.uint64("lnet_selftest.session_stamp", "Stamp of the session"),
  name = ProtoField.stringz("lnet_selftest.name", "Name"),
  body = ProtoField.bytes("lnet_selftest.body", "Body"),
}
srpc.fields = fields

-- (field, bytes) in the order of the wire, behind the id of the reply or the status.
local bodies = {
  [0] = { { "session_nid", 8 }, { "session_stamp", 8 }, { nil, 4 }, { "name", 32 } },
  [1] = { { "session_nid", 8 }, { "session_stamp", 8 }, { nil, 4 }, { "name", 32 } },
  [2] = { { "session_nid", 8 }, { "session_stamp", 8 } },
  [3] = { { "session_nid", 8 }, { "session_stamp", 8 } },
  [4] = { { "session_nid", 8 }, { "session_stamp", 8 } },
  [8] = { { "bulk_id", 8 }, { "session_nid", 8 }, { "session_stamp", 8 } },
  [10] = { { "session_nid", 8 }, { "session_stamp", 8 } },
  [11] = { { "session_nid", 8 }, { "session_stamp", 8 } },
  [12] = { { "bulk_id", 8 }, { "operation", 4 }, { "length", 4 }, { "check", 4 } },
  [14] = { { "ping_magic", 4 }, { "sequence", 4 } },
  [15] = { { "ping_magic", 4 }, { "sequence", 4 } },
  [16] = { { "session_nid", 8 }, { "session_stamp", 8 }, { "name", 32 } },
  [17] = { { "session_nid", 8 }, { "session_stamp", 8 }, { nil, 4 }, { "name", 32 } },
}

local function add(tree, swapped, name, range)
  if swapped and name ~= "name" and name ~= "body" then
    tree:add(fields[name], range)
  elseif name == "name" or name == "body" then
    tree:add(fields[name], range)
  else
    tree:add_le(fields[name], range)
  end
end

function srpc.dissector(buffer, packet, parent)
  local captured = buffer:len()
  if captured < BODY or buffer:reported_len() ~= MESSAGE_BYTES then return 0 end
  local magic = buffer(0, 4):le_uint()
  if magic ~= MAGIC and magic ~= MAGIC_SWAPPED then return 0 end
  local swapped = magic == MAGIC_SWAPPED
  local kind = swapped and buffer(8, 4):uint() or buffer(8, 4):le_uint()
  local tree = parent:add(srpc, buffer(0, captured))
  for _, one in ipairs({ { "magic", 0 }, { "version", 4 }, { "type", 8 }, { "features", 20 } }) do
    add(tree, swapped, one[1], buffer(one[2], 4))
  end
  local at = BODY
  local function take(name, bytes)
    if at + bytes > captured then return false end
    if name then add(tree, swapped, name, buffer(at, bytes)) end
    at = at + bytes
    return true
  end
  local whole = kind % 2 == 0 and take("reply_id", 8) or kind % 2 == 1 and take("status", 4)
  for _, one in ipairs(whole and bodies[kind] or {}) do
    if not take(one[1], one[2]) then break end
  end
  if at < captured then add(tree, swapped, "body", buffer(at, captured - at)) end
  packet.cols.protocol = "LNetST"
  packet.cols.info:append(" " .. (types[kind] or ("type " .. kind)))
  return captured
end

local portals = DissectorTable.get("lnet.ptl_index")
for portal = 50, 52 do
  portals:add(portal, srpc)
end
