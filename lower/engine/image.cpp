#include "lower/engine/image.hpp"

#include "lower/variables.hpp"

namespace kiln::lower {

void Image::find() {
  base_ = address();
  if (!is_global()) {
    b_.op("mov.b32", base_, plan_.dynamic_name.empty() ? variable::dynamic : plan_.dynamic_name.c_str());
    return b_.op("add.u32", base_, base_, plan_.image_offset);
  }
  const bool has_register = plan_.home == Place::global;
  const Register number =
      has_register ? b_.b32("mov.b32", variable::home_number) : b_.b32("ld.shared.b32", at(variable::image_number));
  b_.op("mov.b64", base_, variable::memory);
  b_.op("mad.wide.u32", base_, number, plan_.image_bytes(), base_);
}

void Image::add(Register to, Register offset) const {
  if (!is_global()) return b_.op("add.u32", to, base_, offset);
  b_.op("cvt.u64.u32", to, offset);
  b_.op("add.u64", to, to, base_);
}

void Image::find_cell(Register to, Register column, Register lane) const {
  const Register offset = b_.b32("shr.u32", column, 3);
  b_.op("mad.lo.u32", offset, offset, image_group_bytes, lane);
  b_.op("bfi.b32", offset, column, offset, 2, 3);
  add(to, offset);
}

std::string Image::access(std::string_view way, int words) const {
  return dotted({way, space(), words == 4 ? "v4" : words == 2 ? "v2" : "", "b32"});
}

void Image::find_offset(Register column, Register lane) const {
  const Register group = b_.b32("shr.u32", column, 3);
  b_.op("and.b32", column, column, 7);
  b_.op("shl.b32", column, column, 2);
  b_.op("mad.lo.u32", column, group, image_group_bytes, column);
  b_.op("mad.lo.u32", column, lane, image_lane_bytes, column);
}

}  // namespace kiln::lower
